//! Keywords of Cisco commands as they are typed: in any case, and cut off where what is left can be nothing else. Every reader of
//! commands sees the whole words.

use crate::policy::words::is_digits;

/// Commands that are understood in every mode. `*` is any word, `#` a number, `%` a type of encryption, `~` all further words,
/// which have no names in them. Commands that are not read stand here as far as they share beginnings with those that are.
const GLOBAL: &[&str] = &[
    "hostname *",
    "crypto ipsec transform-set * ~",
    "crypto ipsec ikev1 transform-set * ~",
    "crypto ipsec ikev2 ipsec-proposal *",
    "crypto ipsec profile *",
    "crypto ipsec security-association",
    "crypto ipsec df-bit",
    "crypto ipsec fragmentation",
    "crypto ipsec nat-transparency",
    "crypto ipsec optional",
    "crypto map * local-address *",
    "crypto map * interface *",
    "crypto map * client",
    "crypto map * isakmp",
    "crypto map * # ipsec-manual",
    "crypto map * # ipsec-isakmp",
    "crypto map * # gdoi",
    "crypto map * # match address *",
    "crypto map * # set peer *",
    "crypto map * # set pfs",
    "crypto map * # set transform-set",
    "crypto map * # set ikev1 transform-set",
    "crypto map * # set security-association",
    "crypto map * # set session-key inbound ah #",
    "crypto map * # set session-key outbound ah #",
    "crypto map * # set session-key inbound esp # authenticator *",
    "crypto map * # set session-key outbound esp # authenticator *",
    "crypto map * # set session-key inbound esp # cipher * authenticator *",
    "crypto map * # set session-key outbound esp # cipher * authenticator *",
    "crypto map * # set session-key inbound esp # cipher % * authenticator % *",
    "crypto map * # set session-key outbound esp # cipher % * authenticator % *",
    "crypto map ipv6 * local-address *",
    "crypto map ipv6 * # ipsec-manual",
    "crypto map ipv6 * # ipsec-isakmp",
    "crypto isakmp policy *",
    "crypto isakmp key",
    "crypto isakmp enable",
    "crypto isakmp keepalive",
    "crypto isakmp identity",
    "crypto isakmp nat",
    "crypto isakmp invalid-spi-recovery",
    "crypto isakmp aggressive-mode",
    "crypto isakmp profile",
    "crypto isakmp client",
    "crypto ikev1 policy *",
    "crypto ikev1 enable",
    "crypto ikev2 proposal *",
    "crypto ikev2 policy *",
    "crypto ikev2 keyring *",
    "crypto ikev2 profile *",
    "crypto pki",
    "crypto engine",
    "crypto logging",
    "crypto key",
    "crypto keyring",
    "crypto ca",
    "crypto call",
    "crypto dynamic-map",
    "crypto gdoi",
    "crypto provisioning",
    "crypto identity",
    "interface",
    "ip access-list extended *",
    "ip access-list standard *",
    "ip address",
    "ip route",
    "ipv6 access-list *",
    "access-list * permit ~",
    "access-list * deny ~",
    "access-list * remark",
    "access-list * extended permit ~",
    "access-list * extended deny ~",
    "access-list * line # extended permit ~",
    "access-list * line # extended deny ~",
    "object network *",
    "object service *",
    "object-group network *",
    "object-group service *",
    "ip nat inside source list * interface * overload",
    "ip nat inside source list * pool * overload",
    "ip nat inside source static",
    "ip nat inside source route-map *",
    "router",
    "line",
    "vrf",
];

const MAP: &[&str] = &[
    "set peer *",
    "set pfs",
    "set transform-set",
    "set ikev1 transform-set",
    "set ikev2-profile",
    "set ip",
    "set identity",
    "set isakmp-profile",
    "set nat",
    "set reverse-route",
    "set mixed-mode",
    "set df-bit",
    "set security-association",
    "set security-policy",
    "set session-key inbound ah #",
    "set session-key outbound ah #",
    "set session-key inbound esp # authenticator *",
    "set session-key outbound esp # authenticator *",
    "set session-key inbound esp # cipher * authenticator *",
    "set session-key outbound esp # cipher * authenticator *",
    "set session-key inbound esp # cipher % * authenticator % *",
    "set session-key outbound esp # cipher % * authenticator % *",
    "match address *",
    "match certificate",
    "description",
    "reverse-route",
    "qos pre-classify",
];

const INTERFACE: &[&str] = &[
    "ip address",
    "ip access-group * in",
    "ip access-group * out",
    "ip access-list extended *",
    "ip access-list standard *",
    "ip accounting",
    "ip unnumbered",
    "ip nat inside source list * interface * overload",
    "ip nat outside",
    "ip mtu",
    "ip ospf",
    "ip tcp",
    "ip vrf",
    "ip route",
    "ipv6 access-list *",
    "ipv6 address",
    "ipv6 crypto map *",
    "ipv6 enable",
    "ipv6 ospf authentication ipsec spi #",
    "ipv6 ospf encryption ipsec spi #",
    "ipv6 ospf",
    "ipv6 traffic-filter",
    "ospfv3 authentication ipsec spi #",
    "ospfv3 encryption ipsec spi #",
    "crypto map *",
    "crypto map ipv6 *",
    "crypto ipsec",
    "tunnel source",
    "tunnel destination",
    "tunnel protection ipsec profile *",
    "tunnel mode",
    "tunnel key",
    "nameif *",
    "shutdown",
    "description",
    "standby",
    "speed",
    "duplex",
];

const SET: &[&str] = &["mode tunnel", "mode transport"];

const PROFILE: &[&str] = &[
    "set transform-set",
    "set pfs",
    "set peer",
    "set isakmp-profile",
    "set ikev2-profile",
    "set identity",
    "set security-association",
    "description",
    "responder-only",
];

const LIST: &[&str] =
    &["permit ~", "deny ~", "remark", "sequence # permit ~", "sequence # deny ~", "# permit ~", "# deny ~"];

const IKE: &[&str] = &["encryption ~", "hash ~", "group ~", "authentication ~", "lifetime ~", "integrity ~", "prf ~"];

/// The mode that a line is typed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Context {
    Global,
    Map,
    Interface,
    TransformSet,
    Profile,
    List,
    Ike,
}

impl Context {
    const fn commands(self) -> &'static [&'static str] {
        match self {
            Self::Global => GLOBAL,
            Self::Map => MAP,
            Self::Interface => INTERFACE,
            Self::TransformSet => SET,
            Self::Profile => PROFILE,
            Self::List => LIST,
            Self::Ike => IKE,
        }
    }
}

/// The words of a line, keywords in full and in lower case; those that are no keyword, or may be several, stay as they are.
pub(super) fn expanded(context: Context, words: &[&str]) -> Vec<String> {
    if let ["no", rest @ ..] | ["NO" | "No", rest @ ..] = words {
        return std::iter::once("no".to_owned()).chain(expanded(context, rest)).collect();
    }
    let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let first = lower.first().map_or("", String::as_str);
    // Within a block nothing else begins with the same letter.
    let letters = !matches!(context, Context::Global | Context::Interface);
    let begins = |command: &&&str| {
        let word = command.split(' ').next().unwrap_or_default();
        word == first
            || (word.starts_with(first) && first != "host" && (letters || first.len() > 2 || first == "cr"))
            || (word == "#" && is_digits(first))
    };
    let mut live: Vec<Vec<&str>> =
        context.commands().iter().filter(begins).map(|command| command.split(' ').collect()).collect();
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    for (at, (slot, word)) in all.iter_mut().zip(&lower).enumerate() {
        if live.iter().any(|command| command.get(at) == Some(&"~")) {
            break;
        }
        let open = |command: &Vec<&str>| command.get(at).is_none();
        let exact = live.iter().any(|command| command.get(at) == Some(&word.as_str()));
        let fits = |token: &str| match token {
            "*" => !exact,
            "#" => is_number(word),
            "%" => matches!(word.as_str(), "0" | "6" | "7"),
            token if exact => token == word,
            token => token.starts_with(word.as_str()),
        };
        if live.iter().all(open) || !live.iter().any(|command| command.get(at).is_some_and(|token| fits(token))) {
            break;
        }
        live.retain(|command| command.get(at).is_some_and(|token| fits(token)));
        *slot = (*slot).clone();
    }
    spell(&mut all, &live);
    all
}

/// Writes out what all commands that are left agree on.
fn spell(words: &mut [String], live: &[Vec<&str>]) {
    let Some((one, others)) = live.split_first() else { return };
    let mut name = false;
    let mut rest = false;
    for (at, word) in words.iter_mut().enumerate() {
        match one.get(at) {
            _ if rest => {
                // The word behind `object` is a name.
                if !name {
                    word.make_ascii_lowercase();
                }
                name = matches!(word.as_str(), "object" | "object-group");
            }
            Some(&"~") => {
                rest = true;
                word.make_ascii_lowercase();
                name = matches!(word.as_str(), "object" | "object-group");
            }
            Some(token) if !matches!(*token, "*" | "#" | "%") => {
                let agreed = others.iter().all(|other| other.get(at) == Some(token));
                if agreed && token.starts_with(&word.to_ascii_lowercase()) {
                    *word = (*token).to_owned();
                }
            }
            _ => {}
        }
    }
}

/// A number of a sequence or an SPI.
fn is_number(word: &str) -> bool {
    is_digits(word) || word.starts_with("0x")
}

/// The name of an interface as IOS writes it: `gi0/1` is `GigabitEthernet0/1`.
pub(in crate::policy) fn interface(name: &str) -> String {
    const TYPES: [&str; 19] = [
        "GigabitEthernet",
        "FastEthernet",
        "TenGigabitEthernet",
        "TwentyFiveGigE",
        "FortyGigabitEthernet",
        "HundredGigE",
        "Ethernet",
        "Loopback",
        "Tunnel",
        "Serial",
        "Port-channel",
        "Vlan",
        "Dialer",
        "Multilink",
        "Cellular",
        "ATM",
        "BVI",
        "POS",
        "Virtual-Template",
    ];
    let end = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let Some((kind, number)) = name.split_at_checked(end) else { return name.to_owned() };
    let typed = kind.to_ascii_lowercase();
    // One letter is what people type for the commonest.
    let known = [("g", "gi"), ("f", "fa"), ("e", "eth"), ("s", "se")];
    let lower = known.iter().find(|(letter, _)| *letter == typed).map_or(typed.as_str(), |(_, whole)| whole);
    let mut fitting = TYPES.iter().filter(|known| lower.len() > 1 && known.to_ascii_lowercase().starts_with(lower));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) if !number.is_empty() => format!("{only}{number}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(context: Context, line: &str) -> String {
        expanded(context, &line.split(' ').collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn abbreviations_are_what_ios_takes_them_for() {
        for (context, typed, meant) in [
            (Context::Global, "cry map M1 20 ipsec-m", "crypto map M1 20 ipsec-manual"),
            (
                Context::Global,
                "cr ip tr STRONG ESP-AES 256 esp-sha256-hmac",
                "crypto ipsec transform-set STRONG esp-aes 256 esp-sha256-hmac",
            ),
            (Context::Global, "int gi0/0", "interface gi0/0"),
            (Context::Global, "ip acc ext SITE-A", "ip access-list extended SITE-A"),
            (Context::Global, "CRYPTO MAP Map 10 IPSEC-MANUAL", "crypto map Map 10 ipsec-manual"),
            (
                Context::Global,
                "cry map M 10 set ses in es 4097 ci AB au CD",
                "crypto map M 10 set session-key inbound esp 4097 cipher AB authenticator CD",
            ),
            (Context::Global, "crypto map M int outside", "crypto map M interface outside"),
            (Context::Global, "acc 101 perm ip any host 10.0.0.1", "access-list 101 permit ip any host 10.0.0.1"),
            (
                Context::Map,
                "set ses in es 4097 ci AB au CD",
                "set session-key inbound esp 4097 cipher AB authenticator CD",
            ),
            (Context::Map, "set ses o a 0x101 AB", "set session-key outbound ah 0x101 AB"),
            (
                Context::Map,
                "set ses out e 300 cipher 7 AB auth 7 CD",
                "set session-key outbound esp 300 cipher 7 AB authenticator 7 CD",
            ),
            (Context::Map, "set tr SET", "set transform-set SET"),
            (Context::Map, "ma a LIST", "match address LIST"),
            (Context::Ike, "gr 14", "group 14"),
            (Context::Ike, "enc aes 256", "encryption aes 256"),
            (Context::Map, "mat addr LIST", "match address LIST"),
            (Context::Map, "no set pe 10.0.0.1", "no set peer 10.0.0.1"),
            // `set s` may be a key or a lifetime; what follows decides. `set i` may be several things.
            (Context::Map, "set s in esp 4097", "set session-key inbound esp 4097"),
            (Context::Map, "set i x", "set i x"),
            (Context::Interface, "ip addr 10.0.0.1 255.0.0.0", "ip address 10.0.0.1 255.0.0.0"),
            (Context::Interface, "ip acc 101 in", "ip access-group 101 in"),
            (Context::Interface, "ip acc ext LIST", "ip access-list extended LIST"),
            (Context::Interface, "cry map M1", "crypto map M1"),
            (Context::TransformSet, "mode tr", "mode transport"),
            (Context::List, "10 PERMIT IP any ANY", "10 permit ip any any"),
            (Context::Global, "in the beginning", "in the beginning"),
        ] {
            assert_eq!(whole(context, typed), meant, "{typed}");
        }
    }

    #[test]
    fn interfaces_have_one_name() {
        for (typed, meant) in [
            ("gi0/0", "GigabitEthernet0/0"),
            ("Gig0/0.10", "GigabitEthernet0/0.10"),
            ("gigabitethernet0/0", "GigabitEthernet0/0"),
            ("lo0", "Loopback0"),
            ("Te1/1/1", "TenGigabitEthernet1/1/1"),
            ("g0/1", "GigabitEthernet0/1"),
            ("f0", "FastEthernet0"),
            ("t0", "t0"),
            ("outside", "outside"),
            ("wan1", "wan1"),
        ] {
            assert_eq!(interface(typed), meant, "{typed}");
        }
    }
}
