//! Names of protocols and ports in access lists, as IOS, PIX and ASA have them, and what a line with ports selects.

/// Protocols by name.
const PROTOCOLS: [(&str, u8); 24] = [
    ("ip", 0),
    ("ipv6", 0),
    ("icmp", 1),
    ("igmp", 2),
    ("ipinip", 4),
    ("tcp", 6),
    ("igrp", 9),
    ("udp", 17),
    ("gre", 47),
    ("pptp", 47),
    ("esp", 50),
    ("ipsec", 50),
    ("ahp", 51),
    ("ah", 51),
    ("icmp6", 58),
    ("icmpv6", 58),
    ("ipv6-icmp", 58),
    ("eigrp", 88),
    ("ospf", 89),
    ("nos", 94),
    ("pim", 103),
    ("pcp", 108),
    ("snp", 109),
    ("sctp", 132),
];

/// Ports by name; a name that TCP and UDP share means the same port.
const PORTS: [(&str, u16); 81] = [
    ("aol", 5190),
    ("bgp", 179),
    ("biff", 512),
    ("bootpc", 68),
    ("bootps", 67),
    ("chargen", 19),
    ("cifs", 3020),
    ("citrix-ica", 1494),
    ("cmd", 514),
    ("ctiqbe", 2748),
    ("daytime", 13),
    ("discard", 9),
    ("dnsix", 195),
    ("domain", 53),
    ("drip", 3949),
    ("echo", 7),
    ("exec", 512),
    ("finger", 79),
    ("ftp", 21),
    ("ftp-data", 20),
    ("gopher", 70),
    ("h323", 1720),
    ("hostname", 101),
    ("http", 80),
    ("https", 443),
    ("ident", 113),
    ("imap4", 143),
    ("irc", 194),
    ("isakmp", 500),
    ("kerberos", 750),
    ("klogin", 543),
    ("kshell", 544),
    ("ldap", 389),
    ("ldaps", 636),
    ("login", 513),
    ("lotusnotes", 1352),
    ("lpd", 515),
    ("mobile-ip", 434),
    ("msrpc", 135),
    ("nameserver", 42),
    ("netbios-dgm", 138),
    ("netbios-ns", 137),
    ("netbios-ss", 139),
    ("netbios-ssn", 139),
    ("nfs", 2049),
    ("nntp", 119),
    ("non500-isakmp", 4500),
    ("ntp", 123),
    ("onep-plain", 15001),
    ("onep-tls", 15002),
    ("pcanywhere-data", 5631),
    ("pcanywhere-status", 5632),
    ("pim-auto-rp", 496),
    ("pop2", 109),
    ("pop3", 110),
    ("pptp", 1723),
    ("radius", 1645),
    ("radius-acct", 1646),
    ("rip", 520),
    ("ripv6", 521),
    ("rsh", 514),
    ("rtsp", 554),
    ("secureid-udp", 5510),
    ("sip", 5060),
    ("smtp", 25),
    ("snmp", 161),
    ("snmptrap", 162),
    ("sqlnet", 1521),
    ("ssh", 22),
    ("sunrpc", 111),
    ("syslog", 514),
    ("tacacs", 49),
    ("talk", 517),
    ("telnet", 23),
    ("tftp", 69),
    ("time", 37),
    ("uucp", 540),
    ("who", 513),
    ("whois", 43),
    ("www", 80),
    ("xdmcp", 177),
];

/// The number of a protocol; `None` for a name that is not known.
pub(in crate::policy) fn protocol(word: &str) -> Option<u8> {
    word.parse().ok().or_else(|| PROTOCOLS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number))
}

/// The number of a port; `None` for a name that is not known.
pub(in crate::policy) fn port(word: &str) -> Option<u16> {
    word.parse().ok().or_else(|| PORTS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number))
}

/// The ports that `eq 80 443`, `range 20 21`, `gt 1023`, `lt 1024` and `neq 25` select, in order and without overlap; nothing where all
/// are. `None` where a name is not known.
pub(in crate::policy) fn ports(text: &str) -> Option<Vec<(u16, u16)>> {
    const ALL: (u16, u16) = (0, u16::MAX);
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let Some(how) = words.next() else { return Some(Vec::new()) };
    let numbers: Vec<u16> = words.map(port).collect::<Option<_>>()?;
    let (first, last) = (*numbers.first()?, *numbers.last()?);
    let mut ranges: Vec<(u16, u16)> = match how {
        "eq" => numbers.iter().map(|port| (*port, *port)).collect(),
        "range" => vec![(first.min(last), first.max(last))],
        "gt" => vec![(first.checked_add(1)?, u16::MAX)],
        "lt" => vec![(0, first.checked_sub(1)?)],
        "neq" => without(&numbers),
        _ => return None,
    };
    ranges.sort_unstable();
    let mut joined: Vec<(u16, u16)> = Vec::new();
    for (from, to) in ranges {
        match joined.last_mut() {
            Some((_, end)) if from <= end.saturating_add(1) => *end = to.max(*end),
            _ => joined.push((from, to)),
        }
    }
    Some(if joined == [ALL] { Vec::new() } else { joined })
}

/// All ports but some.
fn without(numbers: &[u16]) -> Vec<(u16, u16)> {
    let mut left = Vec::new();
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let mut from = Some(0);
    for port in sorted {
        if let Some(start) = from.filter(|start| *start < port) {
            left.push((start, port - 1));
        }
        from = port.checked_add(1);
    }
    left.extend(from.map(|start| (start, u16::MAX)));
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_differently_selects_the_same() {
        assert_eq!(ports("range ftp-data ftp"), ports("range 20 21"));
        assert_eq!(ports("eq 20 21"), ports("range 20 21"));
        assert_eq!(ports("gt 1023"), ports("range 1024 65535"));
        assert_eq!(ports("lt 1024"), ports("range 0 1023"));
        assert_eq!(ports("eq www 443"), ports("eq 443 80"));
        assert_eq!(ports("range 0 65535"), ports(""));
        assert_eq!(ports("neq 0"), ports("gt 0"));
        assert_eq!(ports("neq 25"), Some(vec![(0, 24), (26, 65_535)]));
        assert_eq!(ports("eq nobody-knows"), None);
        assert_eq!(
            (protocol("ospf"), protocol("89"), protocol("ip"), protocol("0")),
            (Some(89), Some(89), Some(0), Some(0))
        );
        assert_eq!(protocol("nobody-knows"), None);
    }
}
