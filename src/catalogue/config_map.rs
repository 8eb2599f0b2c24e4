//! Findings from configurations: crypto maps that do nothing, and what keeps packets from them.

use super::Entry;
use crate::model::report::Severity;

pub(super) const KEY_MISSING: Entry = Entry {
    code: "config-key-missing",
    severity: Severity::Error,
    severity_note: "",
    title: "A key that the configuration asks for is missing",
    meaning: "The transform set encrypts and authenticates, and the `set session-key` line has only one of the two keys. IOS does not build the \
              SA, and nothing is protected in that direction. Or IKE authenticates with pre-shared keys and has none for the peer.",
    causes: &[
        "The second half of the line was lost in pasting.",
        "The transform set got an algorithm more than the line has keys.",
        "`crypto isakmp key` has another address than `set peer`.",
    ],
    remedy: &[
        "Type the line again with `cipher KEY authenticator KEY`, the keys that the peer has for this SPI.",
        "`crypto isakmp key KEY address PEER`, the key that the peer has for this router.",
    ],
    lines: &["set session-key outbound esp 4102 cipher <KEY> authenticator <KEY>"],
    references: &["RFC 4301 section 4.5.1"],
};

pub(super) const REFERENCE_MISSING: Entry = Entry {
    code: "config-reference-missing",
    severity: Severity::Error,
    severity_note: "a warning where nothing of that kind was given at all; a note of a crypto map or an interface that is not in use, beside one that is",
    title: "A line names something that does not exist",
    meaning: "An interface names a crypto map, or an entry of a crypto map an access list or a transform set, that the configuration does not \
              have. IOS takes the line without complaint, and the entry protects nothing.",
    causes: &[
        "A name was mistyped: case, `-` for `_`, a letter more or less.",
        "What the line names was removed or renamed.",
    ],
    remedy: &[
        "Correct the name, or define what it names.",
        "`show crypto map` shows entries without access list or transform set as incomplete.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.1"],
};

pub(super) const ENTRY_INCOMPLETE: Entry = Entry {
    code: "config-entry-incomplete",
    severity: Severity::Error,
    severity_note: "a note of a crypto map or an interface that is not in use, beside one that is",
    title: "An entry of a crypto map lacks its peer, transform set or access list",
    meaning: "An entry needs `set peer`, `set transform-set` and `match address`. Without one of them IOS marks it `! Incomplete` and does not \
              use it.",
    causes: &["A line was lost in pasting or refused when it was typed.", "The entry was begun and not finished."],
    remedy: &["Add the line; `show crypto map` shows what the entry has."],
    lines: &[],
    references: &["RFC 4301 section 4.4.1"],
};

pub(super) const MAP_NOT_APPLIED: Entry = Entry {
    code: "config-map-not-applied",
    severity: Severity::Error,
    severity_note: "",
    title: "A crypto map is on no interface, or on the wrong one",
    meaning: "A crypto map works only on the interface that leads to the peer. On no interface it does nothing and packets leave in clear; on \
              another one the tunnel leaves from an address that the peer does not expect.",
    causes: &["The interface was replaced or renumbered.", "`crypto map NAME` was typed under the LAN interface."],
    remedy: &[
        "Type `crypto map NAME` under the interface whose address the peer has in `set peer`, and take it off any other.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.1"],
};

pub(super) const KEYING_MISMATCH: Entry = Entry {
    code: "config-keying-mismatch",
    severity: Severity::Error,
    severity_note: "",
    title: "One router has manual keys, the other negotiates with IKE",
    meaning: "An `ipsec-manual` entry never speaks IKE, and an `ipsec-isakmp` entry builds no SA without it. The two cannot meet.",
    causes: &["Only one router was moved from manual keys to IKE, or back."],
    remedy: &[
        "Take the entry out on one of the two (`no crypto map NAME NUMBER`) and type it anew with the other's kind.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.5"],
};

pub(super) const ENTRY_SHADOWED: Entry = Entry {
    code: "config-entry-shadowed",
    severity: Severity::Error,
    severity_note: "",
    title: "An earlier entry of the crypto map takes the traffic of a later one",
    meaning: "Entries are searched in the order of their numbers, and the first access list that permits a packet decides. What the later entry \
              selects goes to the peer of the earlier one.",
    causes: &["An entry with a wide access list (`any`) was given a low number.", "Two sites' networks overlap."],
    remedy: &[
        "Give the entry with the narrower access list the lower number, or leave its networks out of the other list.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.1"],
};

pub(super) const SPI_DUPLICATE: Entry = Entry {
    code: "config-spi-duplicate",
    severity: Severity::Error,
    severity_note: "",
    title: "Two entries of one router wait for the same SPI",
    meaning: "A receiver finds an SA by destination address, protocol and SPI. Two inbound SAs with one SPI collide, even with different peers; \
              only one of them can be found.",
    causes: &["An entry was copied for a second peer and its SPI left as it was."],
    remedy: &["Give one of the two entries another inbound SPI, and its peer the same number outbound."],
    lines: &[],
    references: &["RFC 4301 section 4.1"],
};

pub(super) const INTERFACE_DOWN: Entry = Entry {
    code: "config-interface-down",
    severity: Severity::Error,
    severity_note: "a note of the network of one of several lines of the access list",
    title: "An interface that the tunnel needs is shut down",
    meaning: "Nothing leaves an interface that is administratively down, and nothing is received on it. It carries the crypto map, is the source \
              of a protected tunnel, or is the only one in the network whose packets belong into the tunnel.",
    causes: &[
        "The interface was shut down for work on it and not brought back.",
        "New interfaces of IOS are shut down.",
    ],
    remedy: &["`no shutdown` under the interface, if it is meant to be up."],
    lines: &[],
    references: &[],
};

pub(super) const ACL_BLOCKS: Entry = Entry {
    code: "config-acl-blocks",
    severity: Severity::Error,
    severity_note: "a note of the network of one of several lines of the access list",
    title: "The access list of an interface drops packets of the tunnel",
    meaning: "An inbound access list sees a packet before IPsec does. On the outer interface it has to permit protocol 50 (ESP) or 51 (AH), or UDP \
              500 and 4500, from the peer; on the inner interface the packets that belong into the tunnel.",
    causes: &[
        "The list was written for other traffic and ends with a deny.",
        "The peer's address in the list was not changed with the peer.",
    ],
    remedy: &[
        "On the outer interface: permit esp or ahp, and udp port 500 and 4500 with IKE, from the peer to this router, before the line that denies.",
        "On the inner interface: permit the networks that the access list of the crypto map selects, before the line that denies.",
    ],
    lines: &["permit esp host 192.0.2.18 host 192.0.2.17", "permit udp host 192.0.2.18 host 192.0.2.17 eq isakmp"],
    references: &["RFC 4301 section 5.2", "RFC 7296 section 2"],
};

pub(super) const ROUTE_MISSING: Entry = Entry {
    code: "config-route-missing",
    severity: Severity::Note,
    severity_note: "a warning of a route that leads elsewhere",
    title: "No route leads to the networks of the tunnel",
    meaning: "IPsec is applied after routing: a packet must be routed out of the interface with the crypto map. Nothing in what was given routes \
              the remote networks there. Routes may come from what was not given.",
    causes: &[
        "The static route was forgotten or removed, or leads into the own network or to Null0.",
        "Only a part of the configuration was pasted.",
    ],
    remedy: &["`show ip route NETWORK`; if there is none, `ip route NETWORK MASK NEXT-HOP` toward the peer."],
    lines: &[],
    references: &["RFC 4301 section 5.1"],
};

pub(super) const GRE_MISMATCH: Entry = Entry {
    code: "config-gre-mismatch",
    severity: Severity::Error,
    severity_note: "",
    title: "A GRE tunnel does not fit its other end or the crypto map",
    meaning: "The crypto map sees GRE packets from the tunnel's source to its destination. They are protected only if the access list selects \
              these packets, and arrive only if source, destination and key are those of the other end.",
    causes: &[
        "The source or the destination of the tunnel was mistyped, or its source is another interface.",
        "`tunnel key` was left out or mistyped on one of the two.",
        "`tunnel mode` was left out on one of the two: without it a tunnel is `gre ip`.",
        "`tunnel mode` is not GRE, and the access list selects GRE.",
        "The access lists name networks that the routes send through the tunnel.",
    ],
    remedy: &[
        "`show interfaces TunnelN` and `show ip route NETWORK` on both; `permit gre host SOURCE host DESTINATION` in the access list.",
    ],
    lines: &[],
    references: &["RFC 2784 section 2", "RFC 2890 section 2.1"],
};

pub(super) const NAT_TAKES: Entry = Entry {
    code: "config-nat-takes",
    severity: Severity::Error,
    severity_note: "",
    title: "NAT translates packets that belong into the tunnel",
    meaning: "From inside to outside, IOS translates a packet before it looks at the crypto map. The translated source is not in the access list \
              of the crypto map, so the packet leaves in clear.",
    causes: &[
        "The list of `ip nat inside source list` has no `deny` for the tunnel's networks, or has it after the line that permits.",
    ],
    remedy: &[
        "Put `deny ip LAN WILDCARD REMOTE WILDCARD` first in the list of NAT, then `clear ip nat translation *`.",
    ],
    lines: &[],
    references: &["RFC 4301 section 5.1"],
};

pub(super) const COUNTERS: Entry = Entry {
    code: "sa-counters",
    severity: Severity::Error,
    severity_note: "a warning or a note of a router's own counters without the peer's, and of a Linux state that received nothing",
    title: "The routers' counters show that packets of an SA are dropped",
    meaning: "One router encapsulates, and the other decapsulates nothing or counts errors. `recv errors` or `verify failed` that grow: the \
              packets come and fail (key, transform, damage). No error at all: they do not come, or have an unknown SPI.",
    causes: &[
        "The keys or the transforms of that direction differ.",
        "A filter on the way drops ESP or AH.",
        "The anti-replay window drops packets that come late.",
    ],
    remedy: &[
        "Compare the keys and transforms of that direction on both routers.",
        "`show crypto ipsec sa detail` splits the errors; `clear crypto sa counters` sets them to 0 before the next try.",
    ],
    lines: &["#send errors 0, #recv errors 611"],
    references: &["RFC 4301 section 5.2"],
};
