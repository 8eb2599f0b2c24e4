//! What of UDP is ESP: protocols that look like it packet by packet, and ESP where it is hard to see.

use crate::support;
use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{at, items, number, text};

const MILLISECOND: u64 = 1_000_000;

/// A datagram: from R1 or from R2, port of R1, port of R2, payload.
type Datagram = (bool, u16, u16, Vec<u8>);

/// A capture of datagrams ten milliseconds apart, as a report.
fn report(test: &str, datagrams: impl IntoIterator<Item = Datagram>) -> Value {
    let frames: Vec<Out> = (0..)
        .zip(datagrams)
        .map(|(n, (from_r1, own, far, payload))| {
            let id = u16::try_from(n % 60_000).expect("16 bits");
            let frame = if from_r1 {
                build::udp(R1, R2, (own, far), id, &payload)
            } else {
                build::udp(R2, R1, (far, own), id, &payload)
            };
            Out::whole(START + n * 10 * MILLISECOND + 1_234, frame)
        })
        .collect();
    let path = support::write_file(&support::scratch(test), "made-up.pcap", &plain_pcap(&frames));
    support::report(&[&path]).json()
}

/// Nothing of it is ESP, and nothing is said that only holds of ESP.
fn no_esp(report: &Value, what: &str) {
    assert!(items(report, "sas").is_empty(), "{what}: {}", at(report, "sas"));
    assert_eq!(number(report, "totals.ipsec_frames"), 0, "{what}");
    let said: Vec<&str> = items(report, "findings").iter().map(|finding| text(finding, "code")).collect();
    let of_esp =
        |code: &&&str| code.starts_with("sequence-") || code.starts_with("spi-") || **code == "esp-length-invalid";
    assert_eq!(said.iter().find(of_esp), None, "{what}");
    assert!(items(report, "layers").iter().all(|layer| !text(layer, "stack").ends_with("/esp")), "{what}");
}

/// SPI and packets of each SA.
fn sas(report: &Value) -> Vec<(u64, u64)> {
    items(report, "sas").iter().map(|sa| (number(sa, "spi"), number(sa, "frames"))).collect()
}

fn esp(noise: &mut Noise, spi: u32, number: u32, bytes: usize) -> Vec<u8> {
    [&spi.to_be_bytes()[..], &number.to_be_bytes(), &noise.bytes(bytes)].concat()
}

/// Ports of R1 and R2: those of IPsec, and others.
const PORTS: [(u16, u16); 4] = [(4500, 4500), (500, 500), (4500, 33_000), (14_500, 33_000)];

/// Payload of one packet: number of the packet, from R1.
type Make = fn(&mut Noise, u32, bool) -> Vec<u8>;

fn rtp_video(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    // Three packets of one picture share a timestamp.
    let sequence = u16::try_from(n & 0xffff).expect("16 bits");
    let head = [&[0x80, 96][..], &sequence.to_be_bytes(), &(n / 3 * 3_000).to_be_bytes(), &[1, 2, 3, 4]].concat();
    [head, noise.bytes(1_200)].concat()
}

fn rtp_voice(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    let sequence = u16::try_from((n + 65_500) & 0xffff).expect("16 bits");
    [&[0x80, 8][..], &sequence.to_be_bytes(), &(n * 160).to_be_bytes(), &[1, 2, 3, 4], &noise.bytes(160)].concat()
}

fn quic(noise: &mut Noise, _: u32, from_r1: bool) -> Vec<u8> {
    // A short header: flags, the connection identifier of the receiver (R1 has none), and ciphertext.
    let flags = 0x40 | u8::try_from(noise.below(64)).expect("6 bits");
    let identifier: &[u8] = if from_r1 { &[9, 8, 7, 6, 5, 4, 3, 2] } else { &[] };
    let bytes = usize::try_from(40 + noise.below(1_200)).expect("a length");
    [&[flags], identifier, &noise.bytes(bytes)].concat()
}

fn quic_bulk(noise: &mut Noise, _: u32, _: bool) -> Vec<u8> {
    // Full datagrams without a connection identifier: random from the second octet on, and whole words.
    [&[0x40 | u8::try_from(noise.below(64)).expect("6 bits")], noise.bytes(1_251).as_slice()].concat()
}

fn openvpn(noise: &mut Noise, n: u32, from_r1: bool) -> Vec<u8> {
    let bytes = usize::try_from(40 + noise.below(1_200)).expect("a length");
    [&[0x48, 0, 0, u8::from(from_r1)][..], &(n + 1).to_be_bytes(), &noise.bytes(bytes)].concat()
}

fn wireguard(noise: &mut Noise, n: u32, from_r1: bool) -> Vec<u8> {
    let index = if from_r1 { [7, 7, 7, 7] } else { [8, 8, 8, 8] };
    let bytes = usize::try_from(16 * (2 + noise.below(60))).expect("a length");
    [&[4, 0, 0, 0][..], &index, &u64::from(n).to_le_bytes(), &noise.bytes(bytes)].concat()
}

fn dtls(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    let bytes = u16::try_from(40 + noise.below(400)).expect("a length");
    let number = u64::from(n).to_be_bytes();
    [&[23, 0xfe, 0xfd, 0, 1][..], &number[2..], &bytes.to_be_bytes(), &noise.bytes(usize::from(bytes))].concat()
}

fn game(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    // A magic word, a type, flags, and a counter of sixteen bits.
    let kind = [2, u8::try_from(noise.below(256)).expect("8 bits")];
    let bytes = usize::try_from(20 + noise.below(300)).expect("a length");
    [
        &[0x32, 0xab, 0x98, 0x64][..],
        &kind,
        &u16::try_from(n & 0xffff).expect("16 bits").to_be_bytes(),
        &noise.bytes(bytes),
    ]
    .concat()
}

fn milliseconds(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    // A constant word and a time in milliseconds, of a packet every ten milliseconds.
    [&[0x77, 0x66, 0x55, 0x44][..], &(n * 10).to_be_bytes(), &noise.bytes(64)].concat()
}

fn turn(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    // Channel data around RTP: the channel, and a length that never changes.
    let rtp =
        [&[0x80, 96][..], &[0, (n & 0xff) as u8], &(n * 160).to_be_bytes(), &[1, 2, 3, 4], &noise.bytes(160)].concat();
    [&[0x40, 1][..], &u16::try_from(rtp.len()).expect("16 bits").to_be_bytes(), &rtp].concat()
}

fn ipfix(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    // Version, length, time of export in seconds, number of records: one message a second.
    [&[0, 10, 1, 0x90][..], &(1_700_000_000 + n).to_be_bytes(), &(n * 20).to_be_bytes(), &noise.bytes(388)].concat()
}

/// The same around packets of several lengths: each makes a first word of its own.
fn turn_of_lengths(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    let bytes = 60 + 12 * usize::try_from(n % 5).expect("a length");
    let rtp = [&[0x80, 96][..], &[0, (n & 0xff) as u8], &noise.bytes(bytes)].concat();
    [&[0x40, 1][..], &u16::try_from(rtp.len()).expect("16 bits").to_be_bytes(), &rtp].concat()
}

fn ipfix_of_lengths(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    let bytes = 100 + 40 * u16::try_from(n % 4).expect("a length");
    let head = [&[0, 10][..], &bytes.to_be_bytes(), &(1_700_000_000 + n).to_be_bytes()].concat();
    [head, noise.bytes(usize::from(bytes) - 8)].concat()
}

fn openvpn_words(noise: &mut Noise, n: u32, from_r1: bool) -> Vec<u8> {
    let bytes = usize::try_from(16 * (3 + noise.below(70))).expect("a length");
    [&[0x48, 0, 0, u8::from(from_r1)][..], &(n + 1).to_be_bytes(), &noise.bytes(bytes)].concat()
}

fn ticks(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    // A constant word and a time in milliseconds that several packets share, in whole words.
    [&[0x47, 0x41, 0x4d, 0x45][..], &(n / 2 * 16).to_be_bytes(), &noise.bytes(64)].concat()
}

/// One word both ways, a counter, and octets that nobody can read.
fn magic(noise: &mut Noise, n: u32, _: bool) -> Vec<u8> {
    let bytes = usize::try_from(4 * (5 + noise.below(60))).expect("a length");
    [&b"game"[..], &(n + 1).to_be_bytes(), &noise.bytes(bytes)].concat()
}

/// A word of each way, a counter, a kind of message that never changes, and octets that nobody can read.
fn typed(noise: &mut Noise, n: u32, from_r1: bool) -> Vec<u8> {
    let bytes = usize::try_from(4 * (5 + noise.below(60))).expect("a length");
    [&[0xde, 0xad, 0xbe, u8::from(from_r1)][..], &(n + 1).to_be_bytes(), &[3, 1, 0, 0], &noise.bytes(bytes)].concat()
}

/// SRT: the data packets bear their number where an SPI would be, and the receiver answers with a constant word and a counter.
fn srt(noise: &mut Noise, n: u32, from_r1: bool) -> Vec<u8> {
    let words = if from_r1 {
        [n + 1_000, 0xc000_0001 + n, n * 1_000, 0x4321_abcd]
    } else {
        [0x8002_0000, n, n * 1_000, 0x1111_1111]
    };
    [words.map(u32::to_be_bytes).concat(), noise.bytes(if from_r1 { 1_316 } else { 28 })].concat()
}

/// A counter of 64 bits whose first bit tells the direction.
fn counted(noise: &mut Noise, n: u32, from_r1: bool) -> Vec<u8> {
    let bytes = 16 * (2 + noise.below(6)) as usize;
    [&(u64::from(n) | u64::from(!from_r1) << 63).to_be_bytes()[..], &noise.bytes(bytes)].concat()
}

#[test]
fn protocols_with_a_counter_of_their_own_are_none() {
    let all: [(&str, Make); 2] = [("srt", srt), ("counted", counted)];
    for (name, make) in all {
        for (own, far) in PORTS.into_iter().filter(|(own, _)| *own == 14_500 || name == "srt") {
            let mut noise = Noise(21);
            let datagrams = (0..400).map(|n| (n % 2 == 0, own, far, make(&mut noise, n / 2, n % 2 == 0)));
            no_esp(&report("counters", datagrams.collect::<Vec<_>>()), &format!("{name} on {own} and {far}"));
        }
    }
    // Four capital letters are no random number.
    let mut noise = Noise(22);
    let datagrams =
        (1..400_u32).map(|n| (true, 14_500, 33_000, [&b"STAT"[..], &n.to_be_bytes(), &noise.bytes(64)].concat()));
    no_esp(&report("letters", datagrams.collect::<Vec<_>>()), "a name");
}

#[test]
fn many_sas_that_have_just_begun_on_the_port_of_esp_are_sas() {
    let mut noise = Noise(9);
    let spis: Vec<u32> = (0..40).map(|_| noise.word() as u32 | 0x100).collect();
    let begun = |n: usize| {
        let spi = spis[n % spis.len()];
        (true, 4500, 4500, esp(&mut Noise(n as u64), spi, (n / spis.len()) as u32 + 1, 60 + n % 7 * 16))
    };
    let report = report("udp-begun", (0..80).map(begun));
    assert_eq!(sas(&report).len(), 40);
    // Random words in the place of the number are none.
    let random = |n: usize| (true, 4500, 4500, Noise(n as u64 + 1).bytes(68 + n % 7 * 16));
    no_esp(&self::report("udp-random", (0..80).map(random)), "random words");
}

#[test]
fn protocols_that_look_like_esp_are_none() {
    // What only a port of its own tells from an SA whose packets were sampled.
    let alike = ["milliseconds"];
    let all: [(&str, Make); 18] = [
        ("milliseconds", milliseconds),
        ("turn", turn),
        ("ipfix", ipfix),
        ("turn-of-lengths", turn_of_lengths),
        ("ipfix-of-lengths", ipfix_of_lengths),
        ("openvpn-words", openvpn_words),
        ("rtp-video", rtp_video),
        ("rtp-voice", rtp_voice),
        ("quic", quic),
        ("quic-bulk", quic_bulk),
        ("openvpn", openvpn),
        ("wireguard", wireguard),
        ("dtls", dtls),
        ("game", game),
        ("ticks", ticks),
        ("magic", magic),
        ("typed", typed),
        ("stun", |noise, _, _| [&[0, 1, 0, 8, 0x21, 0x12, 0xa4, 0x42][..], &noise.bytes(20)].concat()),
    ];
    for (name, make) in all {
        for (own, far) in PORTS.into_iter().filter(|(own, _)| *own == 14_500 || !alike.contains(&name)) {
            for packets in [40_u32, 400] {
                let mut noise = Noise(u64::from(packets));
                let datagrams = (0..packets).map(|n| (n % 2 == 0, own, far, make(&mut noise, n / 2, n % 2 == 0)));
                no_esp(&report("look-alikes", datagrams), &format!("{packets} of {name} on {own} and {far}"));
            }
        }
    }
}

#[test]
fn openvpn_of_one_length_is_none_on_a_port_of_its_own() {
    let mut noise = Noise(4);
    let datagrams = (0..200_u32).map(|n| {
        let payload = [&[0x48, 0, 0, 3][..], &(n + 1).to_be_bytes(), &noise.bytes(1_400)].concat();
        (true, 1194, 40_000, payload)
    });
    no_esp(&report("openvpn-one-length", datagrams), "OpenVPN");
}

#[test]
fn a_counter_before_constant_octets_is_none() {
    let mut noise = Noise(5);
    let datagrams = (0..200_u32).map(|n| {
        let payload =
            [&[0x11, 0x22, 0x33, 0x44][..], &n.to_be_bytes(), &[0, 0, 0, 1, 0, 0, 0, 2], &noise.bytes(80)].concat();
        (true, 20_000, 40_000, payload)
    });
    no_esp(&report("constant-iv", datagrams), "a counter");
}

/// Mosh: a counter of 64 bits whose first bit tells the direction, so that only one way could be ESP.
#[test]
fn a_counter_whose_answers_cannot_be_esp_is_none() {
    let mut noise = Noise(11);
    let datagrams = (0..400_u32).map(|n| {
        let (first, bytes) = (if n % 2 == 0 { 0 } else { 0x8000_0000_u32 }, 16 + 4 * noise.below(30) as usize);
        (n % 2 == 0, 40_000, 60_001, [&first.to_be_bytes()[..], &(n / 2).to_be_bytes(), &noise.bytes(bytes)].concat())
    });
    no_esp(&report("mosh", datagrams.collect::<Vec<_>>()), "mosh");
}

#[test]
fn load_sharing_and_a_stray_answer_leave_esp_what_it_is() {
    let mut noise = Noise(12);
    for ports in [(4500, 4500), (14_500, 33_000)] {
        // Every second packet takes another link.
        let every_second: Vec<_> =
            (0..200_u32).map(|n| (true, ports.0, ports.1, esp(&mut noise, 0xc0de_0001, 2 * n + 1, 88))).collect();
        assert_eq!(sas(&report("shared", every_second.clone())), [(0xc0de_0001, 200)], "{ports:?}");
        // One way, and a short message of something else back.
        let stray = std::iter::once((false, ports.0, ports.1, vec![0, 0, 0, 9, 1]));
        assert_eq!(sas(&report("stray", every_second.into_iter().chain(stray))), [(0xc0de_0001, 200)], "{ports:?}");
    }
}

/// The SPI is constant in an SA: that one of its lengths is the SPI's second half says nothing.
#[test]
fn an_spi_that_spells_a_length_is_an_spi() {
    for spi in [0x4001_0050_u32, 0x000a_0054] {
        for ports in [(4500, 4500), (500, 500), (4500, 33_000)] {
            let several = (0..80_u32)
                .map(|n| (true, ports.0, ports.1, esp(&mut Noise(n.into()), spi, n + 1, 60 + 16 * (n as usize % 5))));
            assert_eq!(sas(&report("spelled", several.collect::<Vec<_>>())), [(spi.into(), 80)], "{spi:#x}, {ports:?}");
            let one = (0..80_u32).map(|n| (true, ports.0, ports.1, esp(&mut Noise(n.into()), spi, n + 1, 76)));
            assert_eq!(sas(&report("spelled-one", one.collect::<Vec<_>>())), [(spi.into(), 80)], "{spi:#x}, {ports:?}");
        }
    }
}

/// One packet of twelve, or of about twelve: what sampling leaves of ESP is ESP.
#[test]
fn a_sample_of_esp_is_esp() {
    for ports in [(4500, 4500), (500, 500), (4500, 33_000)] {
        let mut noise = Noise(13);
        let every =
            (0..200_u32).map(|n| (true, ports.0, ports.1, esp(&mut Noise(n.into()), 0xc0de_0001, 12 * n + 5, 88)));
        assert_eq!(sas(&report("sampled-twelfth", every.collect::<Vec<_>>())), [(0xc0de_0001, 200)], "{ports:?}");
        let mut number = 0;
        let random: Vec<Datagram> = (0..200_u32)
            .map(|_| {
                number += 4 + noise.below(17) as u32;
                (true, ports.0, ports.1, esp(&mut noise, 0xc0de_0001, number, 88))
            })
            .collect();
        assert_eq!(sas(&report("sampled-random", random)), [(0xc0de_0001, 200)], "{ports:?}");
    }
}

#[test]
fn few_packets_of_esp_on_port_4500_are_reported() {
    for packets in [1_u32, 2, 3, 5, 12] {
        let mut noise = Noise(u64::from(packets));
        let datagrams = (0..packets * 2).map(|n| {
            let (from_r1, number) = (n % 2 == 0, n / 2 + 77_000);
            (from_r1, 4500, 33_000, esp(&mut noise, if from_r1 { 0xc0de_0001 } else { 0xc1de_0002 }, number, 88))
        });
        let report = report("few", datagrams);
        assert_eq!(sas(&report), [(0xc0de_0001, packets.into()), (0xc1de_0002, packets.into())], "{packets} packets");
    }
}

/// What a scanner sends is no SA; the first packet of one is.
#[test]
fn a_single_datagram_shows_no_association() {
    let single = |number: u32| {
        let mut noise = Noise(u64::from(number));
        let clear = (0..40).map(|_| (true, 5_000, 5_001, vec![0x2a; 60]));
        let one = (false, 4500, 45_000, esp(&mut noise, 0xc0de_0001, number, 88));
        report(&format!("single-{number}"), clear.chain([one]).collect::<Vec<_>>())
    };
    no_esp(&single(0x0012_d687), "a scan");
    assert_eq!(sas(&single(1)), [(0xc0de_0001, 1)]);
    let scan = support::scratch("single-expected");
    let frames =
        [Out::whole(START, build::udp(R2, R1, (45_000, 4500), 1, &esp(&mut Noise(3), 0xc0de_0001, 77_000, 88)))];
    let scan = support::write_file(&scan, "scan.pcap", &plain_pcap(&frames));
    let checked = support::spiglass(&["check", "-q", "--expect-ipsec", scan.to_str().expect("text")]);
    assert_eq!(checked.status, 1, "no IPsec was seen");
}

#[test]
fn several_associations_of_single_packets_are_reported() {
    let mut noise = Noise(6);
    let spis = [0xc012_3456_u32, 0xc6a1_9903, 0xcb77_0f1e, 0xc3d0_e2a7, 0xce05_6b52];
    let datagrams = spis.iter().map(|spi| (true, 4500, 4500, esp(&mut noise, *spi, 4_711, 120)));
    let report = report("several", datagrams.collect::<Vec<_>>());
    assert_eq!(sas(&report).len(), spis.len());
}

#[test]
fn loss_reordering_restarts_and_doubles_leave_esp_what_it_is() {
    let mut noise = Noise(7);
    // A tenth is lost, neighbours change places, some numbers come twice, and the counter begins anew once.
    let mut numbers: Vec<u32> = (1..=400).filter(|n| n % 10 != 3).collect();
    numbers.chunks_mut(7).for_each(|chunk| chunk.reverse());
    numbers.extend([200, 210, 220]);
    numbers.extend(1..=60);
    for ports in [(4500, 4500), (14_500, 33_000)] {
        let datagrams = numbers.iter().map(|n| (true, ports.0, ports.1, esp(&mut noise, 0xc0de_0001, *n, 88)));
        let datagrams: Vec<_> = datagrams.collect();
        let report = report("damaged", datagrams);
        assert_eq!(sas(&report), [(0xc0de_0001, numbers.len() as u64)], "{ports:?}");
    }
}

/// Whoever types keys and SPIs may type one SPI for both ways.
/// A queue for one class of service, or a path of its own: each packet of it comes a hundred numbers and more behind the others.
#[test]
fn packets_that_come_late_or_twice_far_behind_leave_esp_what_it_is() {
    for (own, far) in PORTS {
        for (share, twice) in [(6, false), (12, false), (30, false), (8, true), (15, true)] {
            let mut noise = Noise(share);
            let mut order: Vec<(u64, u32)> = Vec::new();
            for n in 1..=2_000_u64 {
                let behind = 80 + noise.0 % 200;
                let picked = u64::from(noise.bytes(1)[0]) % 100 < share;
                let at = if picked { n + behind } else { n };
                order.push((at, n as u32));
                if picked && twice {
                    order.push((n, n as u32));
                }
            }
            order.sort_unstable();
            let datagrams: Vec<Datagram> = order
                .iter()
                .flat_map(|(_, n)| {
                    [
                        (true, own, far, esp(&mut noise, 0xc101_4711, *n, 76)),
                        (false, own, far, esp(&mut noise, 0xc202_9988, *n, 92)),
                    ]
                })
                .collect();
            let report = report("late-in-udp", datagrams);
            let frames = order.len() as u64;
            assert_eq!(sas(&report), [(0xc101_4711, frames), (0xc202_9988, frames)], "{own}, {far}: {share} {twice}");
        }
    }
}

#[test]
fn one_spi_that_was_typed_for_both_ways_is_an_spi() {
    let mut noise = Noise(15);
    let datagrams = (0..200_u32)
        .map(|n| (n % 2 == 0, 4500, 4500, esp(&mut noise, 0x1234_5678, n / 2 + 1, 60 + 4 * (n as usize % 90))));
    assert_eq!(sas(&report("typed-spi", datagrams.collect::<Vec<_>>())).len(), 2);
}

/// iperf 2 numbers its datagrams from where an SPI would be: the second one is no WESP.
#[test]
fn a_packet_number_of_two_is_no_wesp() {
    let mut noise = Noise(12);
    let datagrams = (0..60_u32).map(|n| {
        let time = [1_700_000_000_u32.to_be_bytes(), (n * 10_000).to_be_bytes()].concat();
        (true, 4500, 40_000, [&n.to_be_bytes()[..], &time, &noise.bytes(1_440)].concat())
    });
    no_esp(&report("iperf", datagrams.collect::<Vec<_>>()), "iperf 2");
}

/// iperf3 begins its datagrams with the second and the microsecond, NetFlow 9 has the second behind the milliseconds since its start.
#[test]
fn times_are_neither_spis_nor_numbers() {
    const SECOND: u32 = (START / 1_000_000_000) as u32;
    for (own, far) in PORTS {
        let mut noise = Noise(16);
        let datagrams = (0..200_u32).map(|n| {
            let time = [SECOND + n / 100, n % 100 * 3 + 17, n + 1].map(u32::to_be_bytes).concat();
            (true, own, far, [&time[..], &noise.bytes(52)].concat())
        });
        no_esp(&report("iperf3", datagrams.collect::<Vec<_>>()), "iperf3");
        let datagrams = (0..200_u32).map(|n| {
            let fields = [0x0009_0018, 8_000_000 + n * 10, SECOND + n / 100, 77_000 + n].map(u32::to_be_bytes).concat();
            (true, own, far, [&fields[..], &noise.bytes(1_204)].concat())
        });
        no_esp(&report("netflow-9", datagrams.collect::<Vec<_>>()), "NetFlow 9");
    }
}

/// A camera numbers its pictures where ESP has the SPI, and has a format in front of the number of the packet: 1 leads, 2 trails, 3 is the picture.
#[test]
fn pictures_are_no_sas() {
    let mut noise = Noise(17);
    let datagrams = (0..300_u32).map(|n| {
        let (picture, packet) = (700 + n / 60, n % 60);
        let format = match packet {
            0 => 1,
            59 => 2,
            _ => 3,
        };
        let fields = [picture, format << 24 | packet].map(u32::to_be_bytes).concat();
        (true, 50_000, 51_413, [&fields[..], &noise.bytes(1_400)].concat())
    });
    no_esp(&report("pictures", datagrams.collect::<Vec<_>>()), "GigE Vision");
}

/// A gateway numbers the SPIs of its tunnels one after the other, and a capture may begin when each of its SAs has sent millions of packets.
#[test]
fn old_sas_with_neighbouring_spis_are_found() {
    let mut noise = Noise(18);
    let begins = [41_000_000_u32, 18_000_000, 90_000_000];
    let datagrams = (0..600_u32).map(|n| {
        let (from_r1, tunnel) = (n % 2 == 0, n / 2 % 3);
        let spi = if from_r1 { 0xca64_6448 } else { 0x7b33_9911 } + tunnel;
        let number = begins[tunnel as usize] + n / 6;
        (from_r1, 4_500, 4_500, esp(&mut noise, spi, number, 60 + 16 * (n as usize % 40)))
    });
    let found = sas(&report("old-sas", datagrams.collect::<Vec<_>>()));
    assert_eq!(found.iter().map(|(_, frames)| *frames).collect::<Vec<_>>(), [100; 6]);
}

/// ESP in UDP that is to pass firewalls uses the port of QUIC.
#[test]
fn esp_on_the_port_of_quic_is_found() {
    let mut noise = Noise(13);
    let datagrams = (0..200_u32).map(|n| {
        let from_r1 = n % 2 == 0;
        let spi = if from_r1 { 0xc1a2_0304 } else { 0x7b33_9911 };
        (from_r1, 443, 443, esp(&mut noise, spi, n / 2 + 1, 60 + 4 * (n as usize % 90)))
    });
    let found = sas(&report("esp-443", datagrams.collect::<Vec<_>>()));
    assert_eq!(found.iter().map(|(_, frames)| *frames).collect::<Vec<_>>(), [100, 100]);
    // QUIC itself is none.
    let mut noise = Noise(14);
    let datagrams = (0..400_u32).map(|n| (n % 2 == 0, 443, 443, quic(&mut noise, n, n % 2 == 0)));
    no_esp(&self::report("quic-443", datagrams.collect::<Vec<_>>()), "QUIC");
}

/// A site's web traffic: more conversations of QUIC than are watched at once, two datagrams each way, and ESP on the same port behind them.
#[test]
fn many_conversations_of_quic_are_no_esp() {
    let mut noise = Noise(15);
    let short = |noise: &mut Noise, count: u32| -> Vec<Datagram> {
        let port = |n: u32| u16::try_from(20_000 + n / 4).expect("16 bits");
        (0..count * 4).map(|n| (n % 2 == 0, port(n), 443, quic(noise, n, n % 2 == 0))).collect()
    };
    no_esp(&report("quic-many", short(&mut noise, 6_000)), "QUIC");
    let mut datagrams = short(&mut noise, 6_000);
    datagrams.extend((0..400_u32).map(|n| {
        let from_r1 = n % 2 == 0;
        (from_r1, 443, 443, esp(&mut noise, if from_r1 { 0xc1a2_0304 } else { 0x7b33_9911 }, n / 2 + 1, 88))
    }));
    let report = report("quic-many-esp", datagrams);
    let found = sas(&report);
    let is_said = items(&report, "degraded_why").iter().any(|why| why.to_string().contains("UDP"));
    assert!(found == [(0xc1a2_0304, 200), (0x7b33_9911, 200)] || found.is_empty() && is_said, "{found:?}");
}

#[test]
fn esp_on_an_unusual_port_is_found() {
    let mut noise = Noise(8);
    // Ten packets each way: eighteen steps.
    let short = (0..20_u32).map(|n| {
        let from_r1 = n % 2 == 0;
        (from_r1, 14_500, 33_000, esp(&mut noise, if from_r1 { 0xc0de_0001 } else { 0xc1de_0002 }, n / 2 + 1, 88))
    });
    assert_eq!(sas(&report("odd-short", short.collect::<Vec<_>>())), [(0xc0de_0001, 10), (0xc1de_0002, 10)]);
    // Rekeys: a new SPI every thirty packets.
    let rekeyed =
        (0..150_u32).map(|n| (true, 14_500, 33_000, esp(&mut noise, 0xc0de_0100 + n / 30 * 7_919, n % 30 + 1, 88)));
    assert_eq!(sas(&report("odd-rekey", rekeyed.collect::<Vec<_>>())).len(), 5);
    // A NAT gives the sender another port: one SA, the five packets from the new port included.
    let moved = (0..65_u32)
        .map(|n| (true, if n < 60 { 14_500 } else { 14_777 }, 33_000, esp(&mut noise, 0xc0de_0001, n + 1, 88)));
    let report = report("odd-moved", moved.collect::<Vec<_>>());
    assert_eq!(sas(&report), [(0xc0de_0001, 65)]);
    assert_eq!(number(&items(&report, "sas")[0], "sequence.lost"), 0);
    assert!(items(&report, "findings").iter().all(|finding| text(finding, "code") != "clear-traffic"));
}

#[test]
fn a_filter_by_spi_finds_esp_on_an_unusual_port() {
    let mut noise = Noise(18);
    let spis = [0xc0de_0001, 0xc1de_0002];
    let datagrams = (0..80_u32).map(|n| {
        let way = n as usize % 2;
        (way == 0, 14_500, 33_000, esp(&mut noise, spis[way], n / 2 + 1, 88 + 4 * (n as usize % 7)))
    });
    let whole = report("odd-filter-by-spi", datagrams.collect::<Vec<_>>());
    let path = support::scratch("odd-filter-by-spi").join("made-up.pcap");
    let args = ["report", "--format", "json", "-q", "--spi", "0xc0de0001", path.to_str().expect("UTF-8")];
    let filtered = support::spiglass(&args).json();
    assert_eq!(sas(&filtered), [(0xc0de_0001, 40)]);
    let own = |report: &Value, member: &str| at(&items(report, "sas")[0], member).clone();
    for member in ["frames", "sequence", "outer_bytes"] {
        assert_eq!(own(&filtered, member), own(&whole, member), "{member}");
    }
}

/// The payload of a numbered packet.
type Payload<'a> = &'a dyn Fn(u32) -> Vec<u8>;

/// A few datagrams that one look at their payload, or at all of them, tells from ESP.
#[test]
fn few_packets_of_other_protocols_on_the_ports_of_esp_are_none() {
    let rtp = |n: u32| {
        [&[0x80, 0][..], &(n as u16).to_be_bytes(), &(n * 160).to_be_bytes(), &[9, 8, 7, 6], &[0xd5; 160]].concat()
    };
    let random = |n: u32| {
        [&[0x93 + n as u8][..], &Noise(u64::from(n) + 40).bytes(3), &[0xe0], &Noise(u64::from(n)).bytes(95)].concat()
    };
    let ticks = |n: u32| [&[1, 0, 4, 0xd2][..], &(n * 20_000).to_be_bytes(), &[5; 24]].concat();
    let openvpn =
        |n: u32| [&[0x48, 0, 0, 3][..], &(n + 1).to_be_bytes(), &Noise(n.into()).bytes(16 + 4 * n as usize)].concat();
    let srt = |n: u32| [&n.to_be_bytes()[..], &[0xe0, 0, 0, n as u8], &Noise(n.into()).bytes(64)].concat();
    let sip = |_| b"OPTIONS sip:100@192.0.2.1:4500 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.9\r\n\r\n\r\n".to_vec();
    let peers = |n: u32| [&b"d1:ad2:id20:"[..], &Noise(n.into()).bytes(20), b"e1:q4:ping1:t2:aa1:y1:qee"].concat();
    let mpeg = |n: u32| [&[0x47, 1, 0, n as u8][..], &Noise(n.into()).bytes(184)].concat().repeat(7);
    let gtp = |n: u32| [&[0x30, 255, 0, 92, 0, 0, 0, 9][..], &Noise(n.into()).bytes(92)].concat();
    let all: [(&str, Payload<'_>, u32); 9] = [
        ("rtp", &rtp, 2),
        ("random", &random, 2),
        ("ticks", &ticks, 2),
        ("openvpn", &openvpn, 1),
        ("srt", &srt, 1),
        ("sip", &sip, 1),
        ("peers", &peers, 1),
        ("mpeg", &mpeg, 1),
        ("gtp", &gtp, 1),
    ];
    for (name, make, least) in all {
        for packets in [least, 3] {
            let datagrams = (0..packets).map(|n| (true, 4500, 4500, make(n)));
            no_esp(&report("few-others", datagrams), &format!("{packets} of {name}"));
        }
    }
}

/// A client of DNS may have any port, that of ESP included.
#[test]
fn what_a_port_of_another_protocol_answers_is_none() {
    let mut noise = Noise(31);
    for far in [53, 123, 443, 5060] {
        let datagrams: Vec<Datagram> =
            (0..40_u32).map(|n| (n % 2 == 0, 4500, far, noise.bytes(48 + 4 * (n as usize % 9)))).collect();
        no_esp(&report("at-home", datagrams), &format!("port {far}"));
    }
}

#[test]
fn what_ike_proves_is_esp_whatever_its_numbers_do() {
    let mut noise = Noise(9);
    // One packet in three hundred was captured; the exchange of keys was too.
    let mut ike = vec![0; 4];
    ike.extend(1_u64.to_be_bytes());
    ike.extend(2_u64.to_be_bytes());
    ike.extend([46, 0x20, 37, 0x08, 0, 0, 0, 1, 0, 0, 0, 68]);
    ike.extend(noise.bytes(40));
    let sampled = (1..40_u32).map(|n| (true, 4500, 4500, esp(&mut noise, 0xc0de_0001, n * 300, 88)));
    let sampled: Vec<Datagram> = sampled.collect();
    let alone = report("sampled", sampled.clone());
    no_esp(&alone, "sampled");
    let found = items(&alone, "findings").iter().find(|finding| text(finding, "code") == "udp-not-esp");
    assert!(text(found.expect("it is said"), "evidence").contains("are likely another protocol"), "{alone}");
    let with_ike = std::iter::once((true, 4500, 4500, ike)).chain(sampled);
    assert_eq!(sas(&report("sampled-ike", with_ike)), [(0xc0de_0001, 39)]);
}

#[test]
fn two_protocols_between_two_hosts_are_told_apart() {
    let mut noise = Noise(10);
    // ESP on port 4500, and RTP on a port of its own between the same hosts.
    let datagrams = (0..200_u32).map(|n| match n % 2 {
        0 => (true, 4500, 4500, esp(&mut noise, 0xc0de_0001, n / 2 + 1, 88)),
        _ => (true, 16_384, 16_386, rtp_voice(&mut noise, n / 2, true)),
    });
    let report = report("two", datagrams.collect::<Vec<_>>());
    assert_eq!(sas(&report), [(0xc0de_0001, 100)]);
    assert_eq!(number(&report, "totals.ipsec_frames"), 100);
}

/// Real ESP whose packets are seen again much later than a TAP copies them, with nothing in between.
#[test]
fn esp_that_is_seen_twice_is_esp() {
    for (packets, later_ms) in [(120_u32, 20), (120, 70), (4, 40)] {
        let mut noise = Noise(5);
        let packet = |number: u32| {
            let payload = esp(&mut noise, 0x51c2_9a07, number, 80 + 4 * (number as usize % 40));
            let ns = START + u64::from(number) * 100 * MILLISECOND;
            let frame = build::udp(R1, R2, (4500, 4500), number as u16, &payload);
            [0, later_ms].map(|later| Out::whole(ns + later * MILLISECOND, frame.clone()))
        };
        let frames: Vec<Out> = (1..=packets).flat_map(packet).collect();
        let path = support::write_file(&support::scratch("natt-twice"), "made-up.pcap", &plain_pcap(&frames));
        let report = support::report(&[&path]).json();
        assert_eq!(sas(&report), [(0x51c2_9a07, 2 * u64::from(packets))], "{packets} {later_ms}");
    }
}

/// A number that comes again with another content is no sequence number.
#[test]
fn numbers_that_come_twice_with_other_content_are_no_esp() {
    let mut noise = Noise(6);
    let datagrams = (0..240_u32).map(|n| (true, 4500, 4500, esp(&mut noise, 0x51c2_9a07, 1 + n / 2, 80)));
    no_esp(&report("natt-pairs", datagrams.collect::<Vec<_>>()), "pairs");
}

/// Behind port 4500, four zero octets are the marker of IKE (RFC 3948 section 2.2): whatever follows is no packet of an SA.
#[test]
fn what_begins_with_the_marker_of_ike_is_no_esp() {
    let mut noise = Noise(41);
    let payloads: [(&str, Payload<'_>); 5] = [
        ("counter", &|n| [&[0; 4][..], &(n + 1).to_be_bytes(), &Noise(n.into()).bytes(60)].concat()),
        ("random", &|n| [&[0; 4][..], &Noise(n.into()).bytes(80)].concat()),
        ("constant", &|_| [[0; 4], [1, 2, 3, 4]].concat().repeat(8)),
        ("zeros", &|_| vec![0; 64]),
        ("version 3", &|n| {
            let head = [&[0; 4][..], &[7; 8], &n.to_be_bytes(), &[9; 4], &[46, 0x30, 37, 8, 0, 0, 0, 1, 0, 0, 0, 76]];
            [&head.concat()[..], &Noise(n.into()).bytes(48)].concat()
        }),
    ];
    for (name, make) in payloads {
        let alone = (0..40).map(|n| (n % 2 == 0, 4500, 4500, make(n)));
        no_esp(&report("marked", alone), name);
        // Beside ESP, also if there is more of it.
        for (packets, marked) in [(60, 20), (60, 240)] {
            let esp = (1..=packets).map(|n| (true, 4500, 4500, esp(&mut noise, 0xc0de_0001, n, 88)));
            let mixed = esp.chain((0..marked).map(|n| (n % 2 == 0, 4500, 4500, make(n))));
            let report = report("marked-beside", mixed.collect::<Vec<_>>());
            assert_eq!(sas(&report), [(0xc0de_0001, packets.into())], "{name}: {marked} beside {packets}");
            assert!(items(&report, "findings").iter().all(|finding| text(finding, "code") != "spi-zero"), "{name}");
        }
    }
}

/// A device, a counter, and what it measures: a time and floats before zeros, samples of sound, or text.
fn measured(noise: &mut Noise, n: u32, kind: u32) -> Vec<u8> {
    let head = [[0x1a, 0x2b + u8::from(n.is_multiple_of(8)), 0x3c, 0x4d], (n + 1).to_be_bytes()].concat();
    let time = u64::from(1_700_000_000 + n / 100) << 32;
    let body = match kind {
        0 => {
            let value = |noise: &mut Noise| (20.0 + noise.below(1_000) as f32 / 100.0).to_be_bytes();
            let floats: Vec<u8> = (0..6).flat_map(|_| value(noise)).collect();
            [&time.to_be_bytes()[..], &floats, &[0; 24]].concat()
        }
        1 => (0..160).flat_map(|_| (noise.below(1_200) as i16 - 600).to_be_bytes()).collect(),
        _ => {
            let mut text =
                format!("{{\"seq\":{n:08},\"v\":0.{:02},\"name\":\"sensor-0\"}}", noise.below(90)).into_bytes();
            text.resize(64, b' ');
            text
        }
    };
    [head, body].concat()
}

#[test]
fn what_devices_measure_is_no_esp() {
    for (kind, ports) in (0..3).flat_map(|kind| [(14_500, 33_000), (4500, 33_000)].map(|ports| (kind, ports))) {
        let mut noise = Noise(u64::from(kind) + 77);
        let datagrams = (0..400).map(|n| (n % 8 != 0, ports.0, ports.1, measured(&mut noise, n, kind)));
        no_esp(&report("measured", datagrams.collect::<Vec<_>>()), &format!("kind {kind}, ports {ports:?}"));
    }
}

/// A load generator: seconds, microseconds and a count before one buffer, which never changes; a probe: its kind, a time and zeros. Whole and
/// cut by a snapshot length.
#[test]
fn clocks_before_one_content_are_no_numbers_of_esp() {
    for (step, port) in [4_u32, 20, 50].into_iter().flat_map(|step| [4500, 500].map(|port| (step, port))) {
        let mut noise = Noise(u64::from(step) + 5);
        let buffer = noise.bytes(1_436);
        let mut micros = 0;
        let load = (0..600_u32).map(|n| {
            micros += if step == 4 { 10 + noise.below(20) as u32 } else { step };
            let words = [1_764_500_000, micros, n + 1].map(u32::to_be_bytes).concat();
            (true, 53_211, port, [&words[..], &buffer].concat())
        });
        no_esp(&report("load", load.collect::<Vec<_>>()), &format!("load, about {step} on port {port}"));
        let probe = (0..600_u32).map(|n| {
            let words = [0x0100_0010, 77_000 + n * step.max(10), 0, 0, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
            (true, 53_211, port, words)
        });
        no_esp(&report("probe", probe.collect::<Vec<_>>()), &format!("probe, {step} on port {port}"));
    }
}

/// Outer fragments on a port of its own: the first ones hold the numbers.
#[test]
fn fragments_on_an_unusual_port_are_read() {
    let mut noise = Noise(31);
    let mut frames: Vec<Vec<u8>> = Vec::new();
    let mut whole = 0_u64;
    for n in 1..=300_u32 {
        let bytes = 4 * usize::try_from(20 + noise.below(300)).expect("a length");
        let frame = build::udp(R1, R2, (14_500, 14_500), n as u16, &esp(&mut noise, 0x7a31_9c02, n, bytes));
        if bytes > 600 && n % 50 == 49 {
            frames.push(build::in_fragments(&frame, 520)[0].clone());
        } else if bytes > 600 {
            frames.extend(build::in_fragments(&frame, 520));
            whole += 1;
        } else {
            frames.push(frame);
        }
    }
    assert!(whole > 50);
    let at = |n: u64| START + n * 10 * MILLISECOND + 1_234;
    let shown = |frames: Vec<Vec<u8>>| (0..).zip(frames).map(|(n, frame)| Out::whole(at(n), frame)).collect::<Vec<_>>();
    let path = support::write_file(&support::scratch("torn-udp"), "made-up.pcap", &plain_pcap(&shown(frames)));
    let report = support::report(&[&path]).json();
    assert_eq!(sas(&report), [(0x7a31_9c02, 300)], "{}", at_of(&report));
    assert_eq!(number(&report, "sas.0.sequence.lost"), 0);
    assert_eq!(number(&report, "sas.0.fragments"), whole);
    let codes: Vec<&str> = items(&report, "findings").iter().map(|finding| text(finding, "code")).collect();
    assert!(!codes.contains(&"sequence-gap") && !codes.contains(&"clear-traffic"), "{codes:?}");
    // Of packets that did not come whole nothing is summed.
    assert!(at_row(&report, "goodput_bps").is_null() && at_row(&report, "if_no_tfc").is_null());
    assert_eq!(at_row(&report, "clear_bps").as_f64(), Some(0.0));
}

fn at_of(report: &Value) -> &Value {
    at(report, "findings")
}

fn at_row<'r>(report: &'r Value, name: &str) -> &'r Value {
    let row = items(report, "rates.directions").iter().find(|row| number(row, "frames") > 0).expect("a direction");
    at(row, name)
}
