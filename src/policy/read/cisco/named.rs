//! Names for addresses that PIX and ASA let people define: `name 10.0.0.0 branch-lan`.

use crate::policy::facts::builder::Builder;
use crate::policy::limits::MAX_BLOCKS;
use crate::policy::words::address;

/// `name ADDRESS ALIAS`; whether it is one.
pub(super) fn gives(own: &str, alias: &str, builder: &mut Builder) -> bool {
    let Some(own) = address(own) else { return false };
    if let Some(router) = builder.router().filter(|router| router.forwarding.aliases.len() < MAX_BLOCKS) {
        router.forwarding.aliases.insert(alias.to_owned(), own);
    }
    true
}

/// The words of a command with addresses in place of their names, where the command takes an address.
pub(super) fn addressed(mut words: Vec<String>, builder: &mut Builder) -> Vec<String> {
    let Some(router) = builder.continues().filter(|router| !router.forwarding.aliases.is_empty()) else { return words };
    // Names of lists and of maps, and of sets, are names of their own kind.
    let first = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["access-list", ..] => 2,
        ["crypto", "map", _, _, "set", "peer", ..] => 6,
        ["crypto", "isakmp", "key", _, "address", ..] => 5,
        ["isakmp", "key", _, "address", ..] => 4,
        ["ip", "address", _, ..] => 3,
        ["ip" | "ipv6", "route", ..] | ["route", ..] => 2,
        ["network-object" | "host" | "subnet", ..] => 1,
        _ => return words,
    };
    for word in words.iter_mut().skip(first) {
        if let Some(own) = router.forwarding.aliases.get(word) {
            *word = own.to_string();
        }
    }
    words
}
