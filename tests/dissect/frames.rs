//! Real frames, dissected: what every layer says.

use crate::headers::{frame, stack_of};
use spiglass::dissect::{DissectOptions, Note, Stack, stack_name};
use spiglass::model::{Address, LinkType, Protocol, Spi};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn ethernet(data: &[u8]) -> Stack {
    stack_of(&frame(LinkType::ETHERNET, data), &DissectOptions::default())
}

fn v4(a: u8, b: u8, c: u8, d: u8) -> Address {
    Address::v4([a, b, c, d])
}

const AH_MD5: &str = "
    e05fb990ac435057a8bb556d08004500006ce5294000ff3312e1c0a80101c0a8010204040000000003ea0d9ac504d4ee01cf63f6df50
    5235cfb9450000400000400031ffc26ac0a80202c0a80302ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff
    ffffffffffffffffffffffffffff";
const ESP_NULL_MD5: &str = "
    e05fb990ac435057a8bb556d08004500006c58284000ff329fe3c0a80101c0a80102521d2524000beed945000040000040003ffeb46b
    c0a80202c0a80302ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff0102
    02043fee29cb896f255cb5a4604d";
const ESP_DES_MD5: &str = "
    e05fb990ac435057a8bb556d0800450000786ba14000ff328c5ec0a80101c0a80102cb19d3be000382eadd8807d32f573833a2f01d8c
    77456d184c0435d15d23b0882f9dda9ac4a986f86749904de623ffe8d5c5b5d17585541d71ae9261215e290b3b4de1e7f7d6d58a33ee
    190fba59dcf7188a7cb9a61e1f2b31195e9bc3de110726fad3ae";
const AH_ESP_AES: &str = "
    e05fb990ac435057a8bb556d0800450000c8a0d64000ff3356d8c0a80101c0a801023209000056b65ce90000ae1ab1bb151f087019f5
    f96fa8f13e09e08be1adf68e056a9f450547f399a8f5107067cf64dd0000ae1a62fcb0d2af9f0847df3544bbf4fb8f4aa8105c004b54
    81bc590960342362509da9f820a0a420898c7110b4d15ed321cd1d2df5c798c495c7352f578415159051845ee30b15367be20795b4a9
    8dfd5c964af55b16f755aa5b7ef154ce39606eb36a79357c2be82cb61f53d91598b22ba7532e5a3749dc43c2d6defd94cb779384";
const PLAIN_PADDED: &str = "
    5057a8bb55550000000000110800450000280000400040feb383c0a80202c0a80302ffffffffffffffffffffffffffffffffffffffff
    ffffffffffff";

#[test]
fn figure_9_ah_in_tunnel_mode() {
    let stack = ethernet(&bytes(AH_MD5));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/ah/ipv4");
    assert_eq!((stack.frame_bytes, stack.start, stack.trailer, stack.stop), (122, 0, None, None));
    let ah = stack.sas[0];
    assert_eq!((ah.protocol, ah.spi, ah.sequence, ah.bytes, ah.ip), (Protocol::Ah, Spi(1002), 228_246_788, 24, 0));
    assert_eq!(stack.encapsulated, Some(1));
    assert_eq!((stack.costs.outer_ip, stack.costs.ah), (20, 24));
    let inner = stack.ips[1];
    assert_eq!((inner.src, inner.dst, inner.total_bytes), (v4(192, 168, 2, 2), v4(192, 168, 3, 2), 64));
    assert_eq!(stack.macs.map(|(source, _)| source), Some([0x50, 0x57, 0xa8, 0xbb, 0x55, 0x6d]));
}

#[test]
fn figure_11_esp_null_shows_itself_in_one_frame() {
    let stack = ethernet(&bytes(ESP_NULL_MD5));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/esp/ipv4");
    let null = stack.null.expect("beyond doubt");
    assert_eq!((null.icv_bytes, null.iv_bytes, null.pad_bytes, null.next_header), (12, 0, Some(2), 4));
    assert_eq!((null.inner_bytes, null.tfc_bytes, null.pad_monotonic), (64, 0, true));
    assert!(null.bits >= 40);
    assert_eq!(null.inner, Some((v4(192, 168, 2, 2), v4(192, 168, 3, 2))));
    assert_eq!(stack.notes, [Note::Null { sa: 0, support: null }]);
    assert_eq!((stack.encapsulated, stack.costs.outer_ip), (Some(1), 20));
    assert_eq!((stack.sas[0].spi, stack.sas[0].sequence, stack.sas[0].bytes), (Spi(0x521d_2524), 0x000b_eed9, 88));
    assert!(stack.null_checked(&stack.sas[0]));
}

#[test]
fn figures_15_and_20_stay_opaque() {
    let stack = ethernet(&bytes(ESP_DES_MD5));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/esp");
    assert_eq!((stack.encapsulated, stack.null, stack.notes.len()), (None, None, 0));
    assert_eq!((stack.costs.outer_ip, stack.sas[0].bytes), (20, 100));

    let stack = ethernet(&bytes(AH_ESP_AES));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/ah/esp");
    assert_eq!((stack.sas[0].bytes, stack.sas[1].bytes, stack.costs.ah), (44, 136, 44));
    assert_eq!((stack.sas[1].spi, stack.encapsulated), (Spi(0x67cf_64dd), None));
    assert!(stack.notes.is_empty());
}

#[test]
fn figure_22_padding_is_a_trailer() {
    let stack = ethernet(&bytes(PLAIN_PADDED));
    assert_eq!(stack_name(stack.shape), "eth/ipv4");
    assert_eq!((stack.frame_bytes, stack.trailer_bytes), (60, 6));
    assert_eq!(stack.trailer.map(|span| (span.start, span.bytes)), Some((54, 6)));
    assert_eq!((stack.costs.outer_ip, stack.encapsulated), (0, None));
}
