//! Findings about which SAs and which traffic are there, and in which direction.

use super::Entry;
use crate::model::report::Severity;

pub(super) const NEVER_SEEN: Entry = Entry {
    code: "sa-never-seen",
    severity: Severity::Warning,
    severity_note: "",
    title: "An expected SA carried no packet in this capture",
    meaning: "The configuration names an SA of which the capture shows nothing. It may be idle, or its packets may take another way or \
              another SPI.",
    causes: &[
        "No traffic matched the tunnel's access list while the capture ran.",
        "The sender uses another SPI or protocol; then spi-unexpected, spi-mistyped or sa-wrong-protocol accompanies this finding.",
        "The TAP is on a link that this direction does not use.",
    ],
    remedy: &[
        "On the sender look whether the counters move: `show crypto ipsec sa` (`#pkts encaps`) or `ip -s xfrm state`.",
        "If they move, look for the packets at the TAP with a capture filter `ip proto 50 or ip proto 51 or udp port 4500`.",
        "If they do not, check the crypto map's access list or the XFRM policy, and the route towards the peer.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4"],
};

pub(super) const WRONG_PROTOCOL: Entry = Entry {
    code: "sa-wrong-protocol",
    severity: Severity::Error,
    severity_note: "",
    title: "The expected SPI is on the wire in the other protocol",
    meaning: "Source, destination and SPI are as configured, but the packets are ESP where AH is expected, or the reverse. SAs of different \
              protocols are different SAs, so the receiver drops the packets.",
    causes: &[
        "The transform sets of the two routers differ: one has ah-*, the other esp-*.",
        "The SAs are older than the configuration: manual SAs stay as they were built until `clear crypto sa`.",
        "Manual keys were entered for one protocol while the transform set asks for the other.",
    ],
    remedy: &[
        "Compare `show crypto ipsec transform-set` and `show running-config | section crypto map` on both routers.",
        "Make transform set and `set session-key` lines agree, then `clear crypto sa` on both.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.1"],
};

pub(super) const WRONG_DIRECTION: Entry = Entry {
    code: "sa-wrong-direction",
    severity: Severity::Error,
    severity_note: "warning where only one of its two ends differs, which another tunnel with the same SPI explains as well",
    title: "An expected SPI is used in the opposite direction or between other ends",
    meaning: "The SPI that is configured from one router to the other is on the wire the other way round, or from or to another address. \
              Where it is the other way round, each receiver waits for the other number and drops what comes.",
    causes: &[
        "Inbound and outbound were swapped on one router: the local inbound SPI must equal the peer's outbound SPI.",
        "The configuration was copied from one router to the other without swapping the two lines.",
        "Between other ends: a peer's address is wrong, or another tunnel has the same SPI.",
    ],
    remedy: &[
        "On one router only, swap the SPIs and keys of `set session-key inbound` and `set session-key outbound`.",
        "Then `clear crypto sa` there and see `#pkts decaps` of `show crypto ipsec sa` grow on both.",
    ],
    lines: &[
        "R1:  set session-key inbound esp 2001 ...",
        "R1:  set session-key outbound esp 1002 ...",
        "R2:  set session-key inbound esp 1002 ...",
        "R2:  set session-key outbound esp 2001 ...",
    ],
    references: &["RFC 4301 section 4.1"],
};

pub(super) const ONE_WAY: Entry = Entry {
    code: "sa-one-way",
    severity: Severity::Note,
    severity_note: "",
    title: "IPsec packets in one direction only",
    meaning: "One endpoint sends at least ten packets of this protocol and the other sends none back, while other IP traffic of the tap runs \
              both ways.",
    causes: &[
        "The far side drops the packets (unknown SPI, failed authentication) and so has nothing to answer.",
        "The traffic is one-way by nature: a load generator, syslog, multicast.",
        "The way back does not pass this TAP (asymmetric routing), or leaves in clear: see clear-traffic.",
    ],
    remedy: &[
        "On the receiver: `show crypto ipsec sa` (`#pkts decaps`, `#recv errors`) or `ip -s xfrm state` and /proc/net/xfrm_stat.",
        "If decaps stays at 0, compare SPI, protocol and keys with the sender: its outbound SA must be the receiver's inbound SA.",
        "If decaps grows, look for the answers: routing on the far side, and its access list that selects traffic for the tunnel.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.1"],
};

pub(super) const INNER_ONE_WAY: Entry = Entry {
    code: "inner-one-way",
    severity: Severity::Warning,
    severity_note: "a note where no SA is seen, where nothing at the tap is sent to the IP or MAC address that the packets come from, and of packets other than TCP in \
                    a tunnel through which other hosts are answered",
    title: "Traffic inside a tunnel has no answer in any SA back",
    meaning: "The packets inside the tunnel are visible, and for these inner addresses nothing comes back inside any SA of the opposite \
              direction. If the SAs back carry nothing at all, the routers show it: one side encrypts, never decrypts; its encaps counters \
              rise and its decaps stay 0. Logs, SNMP traps, flow exports and media need no answer.",
    causes: &[
        "The far side's access list or policy does not select the answers for the tunnel: they leave in clear or are dropped.",
        "The inner destination is down, or its route back does not lead to the gateway.",
        "The answers do not pass this TAP (asymmetric routing).",
    ],
    remedy: &[
        "Compare the crypto access lists of both routers: each must be the mirror of the other. `show crypto ipsec sa` prints them as \
         local ident and remote ident.",
        "Look for the inner addresses in clear on the far side's links.",
        "`#pkts decaps` of `show crypto ipsec sa` on the far side says whether the packets arrive there at all.",
    ],
    lines: &[
        "#pkts encaps: 153, #pkts encrypt: 153, #pkts digest: 153",
        "#pkts decaps: 0, #pkts decrypt: 0, #pkts verify: 0",
    ],
    references: &["RFC 4301 section 4.4.1"],
};

pub(super) const FORWARDED: Entry = Entry {
    code: "sa-forwarded",
    severity: Severity::Note,
    severity_note: "",
    title: "A router sends packets of SAs on, and the TAP shows both frames",
    meaning: "Packets of an SA come to a router and leave it where the TAP shows them again: between the same MAC addresses the other way, or out of one tunnel without \
              IPsec into the next one. The links of the TAP carry each of them twice, and the receiver gets it once. Frames, sequence numbers, sizes and anti-replay windows \
              of the SA are those of the first sighting; rates by direction and totals hold both.",
    causes: &[
        "A firewall or router with one interface sends transit traffic back to where it came from.",
        "A hub forwards between two tunnels (spoke to spoke) over one uplink, or over two that the TAP shows.",
    ],
    remedy: &[
        "Nothing is wrong with the SA. For the load of the link take the rates by direction.",
        "If the router should not be on the way, look at the routes of the hosts before it and at its ICMP redirects.",
    ],
    lines: &[],
    references: &[],
};

pub(super) const TRANSLATED: Entry = Entry {
    code: "sa-translated",
    severity: Severity::Note,
    severity_note: "a warning where the address of a peer may be wrong instead",
    title: "Addresses are translated between the ends of an SA",
    meaning: "Packets verify under the key of an SA that a configuration states with other addresses and the same SPI, or have its SPI in \
              UDP or in both directions. The ICV of ESP does not cover the IP header before it, so that ESP passes one-to-one NAT; AH never does.",
    causes: &["One of the two gateways is behind NAT.", "The capture was taken at the other side of a NAT device."],
    remedy: &[
        "Nothing needs to be done for tunnel mode behind one-to-one NAT: each router has the address that it sees as its peer.",
        "Behind NAT with ports use ESP in UDP (NAT-T).",
    ],
    lines: &[],
    references: &["RFC 3948", "RFC 3715 section 2.1"],
};

pub(super) const CLEAR_TRAFFIC: Entry = Entry {
    code: "clear-traffic",
    severity: Severity::Note,
    severity_note: "",
    title: "Unprotected IP traffic beside the tunnel",
    meaning: "Between the tunnel's endpoints, or on the same link and direction, IP packets travel without IPsec. That can be right \
              (management, routing protocols); it is reported so that it is not mistaken for tunnelled traffic in a rate.",
    causes: &[
        "Traffic that the access list or policy does not select for the tunnel.",
        "Routing protocols, BFD, NTP or SSH between the gateways themselves.",
    ],
    remedy: &[
        "Look which addresses and sizes they are: `spiglass frames --format csv` lists every frame with its stack.",
        "If they should be protected, widen the access list on both routers (mirrored) or the XFRM policies.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.1"],
};

pub(super) const PLAINTEXT_LEAK: Entry = Entry {
    code: "plaintext-leak",
    severity: Severity::Warning,
    severity_note: "an error where no packet of the direction is protected; a note where the link may be inside the tunnel",
    title: "Packets of protected addresses travel in clear",
    meaning: "Packets that the configuration selects for a tunnel appear without IPsec. Without a configuration nothing tells which should be protected.",
    causes: &[
        "The access list selects only part of the traffic: one direction, one protocol, or only some hosts.",
        "A second path or a failed-over link has no crypto map.",
        "Packets left before the SA was up.",
    ],
    remedy: &[
        "Check that the crypto map is on every interface that can carry the traffic: `show crypto map` lists them.",
        "Compare `show ip access-lists` hit counters of the crypto access list on both routers.",
        "On Linux: `ip xfrm policy`, and a policy of action block for what must never leave in clear.",
    ],
    lines: &[],
    references: &["RFC 4301 section 4.4.1"],
};

pub(super) const STREAM_UNREAD: Entry = Entry {
    code: "tcp-stream-unread",
    severity: Severity::Note,
    severity_note: "",
    title: "A stream of IKE and ESP in TCP was not read",
    meaning: "A TCP stream begins with the prefix of IKE and ESP in TCP on a port other than 4500. Only segments that bear the prefix are read on such \
              a port: what follows may be any protocol to a reader that has not seen the beginning.",
    causes: &["Clients in networks that let through HTTPS alone use port 443."],
    remedy: &["Name the port: `spiglass report --tcp-port 443 CAPTURE`."],
    lines: &[],
    references: &["RFC 9329 section 4"],
};

pub(super) const CONTINUATION: Entry = Entry {
    code: "tcp-continuation",
    severity: Severity::Note,
    severity_note: "",
    title: "TCP segments hold parts of messages",
    meaning: "ESP in TCP is read where messages begin and end in one segment. TCP cuts its stream where it likes: under load most segments hold parts \
              of messages. ESP in these is not read, and where numbers are missing the SA has no figures of sequence numbers.",
    causes: &[
        "Much traffic: the sender's TCP fills its segments.",
        "Segmentation offload, or a proxy that puts segments together.",
        "Another protocol on a port that is read as ESP in TCP.",
    ],
    remedy: &[
        "Read losses and rates from the gateways' counters, or from a capture with ESP in UDP or without encapsulation.",
    ],
    lines: &[],
    references: &["RFC 9329 section 3"],
};
