//! Findings about the capture itself: what it cannot show, shows twice, or shows wrongly.

use super::Entry;
use crate::model::report::Severity;

pub(super) const ONE_DIRECTION: Entry = Entry {
    code: "capture-one-direction",
    severity: Severity::Note,
    severity_note: "",
    title: "The tap shows one direction only",
    meaning: "All IP traffic of this tap runs one way. Nothing can be said about answers, so one-way tunnels are not reported apart.",
    causes: &[
        "Only one of the two monitor ports of a passive TAP was captured.",
        "A SPAN session with rx or tx instead of both.",
    ],
    remedy: &[
        "Capture both monitor ports and name them as one tap: `--tap NAME=port-a.pcap,port-b.pcap`.",
        "For SPAN: `monitor session 1 source interface INTERFACE both`.",
    ],
    lines: &["monitor session 1 source interface GigabitEthernet0/1 both"],
    references: &[],
};

pub(super) const GATEWAY_VIEW: Entry = Entry {
    code: "gateway-view",
    severity: Severity::Note,
    severity_note: "",
    title: "The capture was made on a gateway and shows packets twice",
    meaning: "Received packets appear as ESP or AH and once more decapsulated, as the host's own capture shows them. On the wire was \
              only the first, and rates leave the second out. Where all packets are of a few lengths, a load that the sender leaves \
              unprotected looks the same, and where the answers are in clear, too, so does a TAP at the only port of a gateway: then the \
              evidence says so, and rates of that direction are not given.",
    causes: &["tcpdump on the gateway's own interface: Linux hands a decapsulated packet to the capture again."],
    remedy: &[
        "For rates, capture on a TAP or SPAN port beside the gateway.",
        "On the gateway, use a filter `esp or ah or udp port 4500`, or capture the plaintext on an XFRM interface of its own.",
    ],
    lines: &[],
    references: &[],
};

pub(super) const TAP_COPIES: Entry = Entry {
    code: "tap-copies",
    severity: Severity::Note,
    severity_note: "",
    title: "The TAP or SPAN port delivers frames twice",
    meaning: "At least a fifth of the tap's frames are copies of another frame within 10 ms, equal from the IP header on. Sequence numbers, sizes, \
              rates and overhead are given without the copies; totals of frames are not changed. In `match`, packets of a plaintext side that \
              come twice and were sent once are left out.",
    causes: &[
        "A SPAN session that mirrors both the ingress and the egress port of the same path.",
        "An aggregation TAP that feeds one link into the monitor port twice, or two captures joined in one file.",
    ],
    remedy: &[
        "Mirror one interface, or several with rx only.",
        "If the copies come from two places, capture them apart and name two taps: `--tap A=... --tap B=...`.",
    ],
    lines: &["monitor session 1 source interface GigabitEthernet0/1 rx"],
    references: &[],
};

pub(super) const PAUSE_FRAMES: Entry = Entry {
    code: "pause-frames",
    severity: Severity::Note,
    severity_note: "",
    title: "PAUSE frames on the link",
    meaning: "802.3x or priority flow control is at work: a device asks its neighbour to stop sending. The frames themselves take bandwidth in their \
              direction (50 Mbit/s and more were seen in router tests), and a rate test then measures the flow control and not the device.",
    causes: &[
        "The sender of the PAUSE frames cannot take what it is sent: the rate is above what the device forwards.",
        "Flow control is on by default on the switch or network card.",
    ],
    remedy: &[
        "Take the L1 rate without control frames for the traffic, and the one with control frames for the link; both are in the rates table.",
        "For benchmarks switch flow control off: `no flowcontrol receive` or `flowcontrol receive off` (Cisco switches), \
         `ethtool -A INTERFACE rx off tx off` (Linux).",
        "`--link-rate` makes spiglass compute how long the sender was stopped.",
    ],
    lines: &["ethtool -A INTERFACE rx off tx off"],
    references: &["IEEE 802.3 annex 31B", "IEEE 802.1Qbb", "RFC 2544 section 5"],
};

pub(super) const CUT: Entry = Entry {
    code: "capture-cut",
    severity: Severity::Note,
    severity_note: "",
    title: "The capture ends in the middle of a record",
    meaning: "The file stops inside a frame. Everything before is whole and is reported; what came after is not in the file.",
    causes: &[
        "The capture was interrupted, or is still being written.",
        "The disk was full, or a copy of the file was broken off.",
    ],
    remedy: &[
        "Compare the file's size with the original and copy it again, or stop the capture first.",
        "`--accept-cut` lets a run over files in progress end with status 0.",
        "`tcpdump -U` writes whole records.",
    ],
    lines: &[],
    references: &[],
};

pub(super) const DAMAGED: Entry = Entry {
    code: "capture-damaged",
    severity: Severity::Warning,
    severity_note: "",
    title: "The capture is damaged",
    meaning: "A record or block cannot be what it claims to be. In pcap everything from there on is unreadable; in pcapng reading resumes at the \
              next block whose two length fields agree. The evidence names byte offset and frame.",
    causes: &[
        "A transfer in text mode, a bad disk, or a compressed file whose end is missing.",
        "Two writers in one file, or files joined with `cat` instead of `mergecap`.",
    ],
    remedy: &[
        "Fetch the file again from where it was captured and compare checksums.",
        "To join captures give them all to spiglass, or use `mergecap -w OUT IN...`.",
    ],
    lines: &[],
    references: &["draft-ietf-opsawg-pcap", "draft-ietf-opsawg-pcapng"],
};

pub(super) const SNAPLEN: Entry = Entry {
    code: "capture-snaplen",
    severity: Severity::Note,
    severity_note: "",
    title: "Frames were cut by the snapshot length",
    meaning: "Not all bytes of the frames were captured. Lengths and rates are right, for the original length is recorded; what needs the end of \
              a packet (ESP trailer, padding, ICV) or deep headers may be missing.",
    causes: &[
        "A capture with `-s` or a TAP that slices frames.",
        "A cloud mirror that cuts packets to the target's MTU.",
    ],
    remedy: &[
        "Capture whole frames: `tcpdump -s 0`.",
        "128 bytes are enough for SPIs, sequence numbers and sizes of most tunnels.",
    ],
    lines: &[],
    references: &[],
};

pub(super) const SLICED: Entry = Entry {
    code: "capture-sliced",
    severity: Severity::Note,
    severity_note: "",
    title: "Frames are shorter than the packets in them",
    meaning: "The packet states more bytes than the capture says were on the wire, and its header is sound. The length on the wire was lost \
              where the frames were shortened, so L1 and L2 figures of these frames are computed from the IP length and called assumed; totals \
              of bytes on the wire are too small. ICVs, padding and ESP trailers were not seen.",
    causes: &[
        "A TAP or packet broker slices frames, and the capture takes the slice for the whole frame.",
        "A tool rewrote the capture and set the original length to the captured one.",
    ],
    remedy: &[
        "Switch packet slicing off, or capture where frames are whole.",
        "Or capture the first bytes only with a tool that keeps the length on the wire: `tcpdump -s 128`.",
    ],
    lines: &[],
    references: &[],
};

pub(super) const FCS: Entry = Entry {
    code: "capture-fcs",
    severity: Severity::Note,
    severity_note: "",
    title: "The capture holds the frame check sequences",
    meaning: "The last four bytes of the frames are the CRC-32 of the bytes before them, and the capture does not declare an FCS. They are treated as the FCS: not as padding, and counted once in L2 and L1.",
    causes: &[
        "The capture card or TAP keeps the FCS and writes a file without declaring it (pcap: the FCS bits of the link type field; pcapng: if_fcslen).",
    ],
    remedy: &[
        "Nothing is wrong with the figures. For Wireshark: `-o eth.fcs:Always`, or \"Assume packets have FCS\" in the Ethernet preferences.",
    ],
    lines: &[],
    references: &["IEEE 802.3 clause 3.2.9", "draft-ietf-opsawg-pcapng (if_fcslen)"],
};

pub(super) const UNTIMED: Entry = Entry {
    code: "capture-untimed",
    severity: Severity::Note,
    severity_note: "",
    title: "Frames without a time",
    meaning: "The capture gives these frames no time, or one outside the years 1677 to 2262. They are in every count and in no time bin. \
              Where an SA or a direction begins or ends with one, its rates and its first or last time are unknown.",
    causes: &[
        "Simple packet blocks of pcapng, which hold no time.",
        "A capture tool that wrote a wrong time or a wrong resolution (`if_tsresol`).",
        "Damaged blocks.",
    ],
    remedy: &[
        "Capture with a tool that writes enhanced packet blocks: `dumpcap`, `tcpdump`.",
        "Look at the times of the first and the last frame with `capinfos`.",
    ],
    lines: &["capinfos -a -e CAPTURE"],
    references: &["draft-ietf-opsawg-pcapng section 4.4"],
};

pub(super) const CLOCK_BACK: Entry = Entry {
    code: "capture-clock-back",
    severity: Severity::Note,
    severity_note: "",
    title: "The capture's clock stepped back",
    meaning: "A frame has an earlier time than the one before it in the same stream. Order is taken from the file, so sequence figures are right; \
              rates around the step are not.",
    causes: &[
        "NTP or PTP set the clock of the capture host while it ran.",
        "Frames of several queues were written without sorting; then the steps are tiny and many.",
    ],
    remedy: &[
        "Let the clock be slewed and not stepped while capturing (chrony without makestep).",
        "For tiny steps `reordercap IN OUT` sorts a file by time.",
    ],
    lines: &[],
    references: &[],
};

pub(super) const ORDER: Entry = Entry {
    code: "capture-order",
    severity: Severity::Note,
    severity_note: "",
    title: "Frames of several interfaces are in no order of time",
    meaning: "A pcapng file of several interfaces holds their frames in turns: frames of one stand behind later ones of another. That is no \
              step of a clock. Each direction of a TAP has an interface of its own, and its figures hold; what one interface saw before another \
              is told by the times and not by the order. Of an SA that was seen on several interfaces, what came late and what came twice \
              is not known.",
    causes: &[
        "`dumpcap -i A -i B` and `tshark -i A -i B` write the frames of each interface when its buffer is handed over.",
    ],
    remedy: &["`reordercap IN OUT` sorts the file by time."],
    lines: &["reordercap IN OUT"],
    references: &["draft-ietf-opsawg-pcapng section 4.3"],
};

pub(super) const CLOCK_SET: Entry = Entry {
    code: "capture-clock-set",
    severity: Severity::Note,
    severity_note: "",
    title: "The capture's clock was set for the first time while it ran",
    meaning: "The first frames bear times of 1970 or 1980, where a clock begins that nobody set, and later ones bear the time of day. Rates of what was \
              seen before and after are not given, because the time between is not known.",
    causes: &["The capture host has no battery-backed clock, and NTP reached it after the capture had begun."],
    remedy: &["Begin to capture when the clock is set: `chronyc waitsync`.", "`--from` leaves the first frames out."],
    lines: &["chronyc waitsync"],
    references: &[],
};

pub(super) const DROPS: Entry = Entry {
    code: "capture-drops",
    severity: Severity::Warning,
    severity_note: "",
    title: "The capturing host says that it lost frames",
    meaning: "The capture's own statistics count packets that were seen but not written. Gaps in sequence numbers may be these and not loss on the \
              wire.",
    causes: &["The host or its disk was too slow for the rate.", "A capture buffer that is too small."],
    remedy: &[
        "Enlarge the buffer (`tcpdump -B 65536`, in KiB), shorten the snapshot length, or write to a faster disk.",
        "Capture with a filter for the tunnel, or use a capture card.",
    ],
    lines: &[],
    references: &["draft-ietf-opsawg-pcapng (interface statistics block)"],
};

pub(super) const LAYOUT: Entry = Entry {
    code: "tap-layout",
    severity: Severity::Note,
    severity_note: "",
    title: "Which captures are one tap was assumed",
    meaning: "Captures that overlap in time are files of one rotation or of two taps, and no SA in both decides which; or a later capture \
              holds the same sequence numbers or packets again; or two captures hold the same frames. The evidence says what was assumed.",
    causes: &[
        "The clock of the capturing host was adjusted while one file ended and the next began.",
        "Two taps on links that share the traffic (ECMP, a port channel): each sees a part of the numbers of an SA.",
        "Two taps whose clocks differ by more than the captures last.",
        "The same capture was given twice, perhaps once compressed.",
    ],
    remedy: &[
        "Name the taps: `--tap NAME=FILE,FILE` for the files of one tap, one --tap for each. Files of one --tap are merged by time, unless their names count on and they follow each other.",
        "If a clock was set back between two files, correct the times of one first: `editcap -t SECONDS IN OUT`.",
    ],
    lines: &[],
    references: &[],
};

pub(super) const HOLE: Entry = Entry {
    code: "capture-hole",
    severity: Severity::Warning,
    severity_note: "note where neither sequence numbers nor file names show that something is missing",
    title: "A time without capture between two files of one tap",
    meaning: "Files of one rotation do not join: the pause between the end of one and the start of the next is longer than the tap's other pauses, or as \
              many sequence numbers are missing as would have been sent in it. Sequence gaps at that place are then missing files rather than \
              loss. The evidence says what the numbers and the names of the files show.",
    causes: &[
        "A file of the rotation is missing or was overwritten (`tcpdump -W`).",
        "The capture was stopped and started again.",
        "Nothing was sent, or an outage lost the packets.",
    ],
    remedy: &["Give all files of the rotation.", "If the pause is real, report the parts apart."],
    lines: &[],
    references: &[],
};

pub(super) const FILE_MISSING: Entry = Entry {
    code: "capture-file-missing",
    severity: Severity::Note,
    severity_note: "warning where sequence numbers of an SA are missing between the two files",
    title: "A number is missing between the file names of one tap",
    meaning: "The files of a tap have names that count on, and a file with a number in between was not given. That is all a name proves: it \
              does not say that packets are missing. The evidence says whether the sequence numbers of the SAs go on from one file to the next.",
    causes: &[
        "A file of the rotation was not given, not copied, or deleted.",
        "The files were chosen, or they come from two runs of the capture.",
    ],
    remedy: &[
        "Give the file with that number, if there is one.",
        "If the files were chosen, `--ignore capture-file-missing` accepts it.",
    ],
    lines: &[],
    references: &[],
};

pub(super) const LINK_UNREAD: Entry = Entry {
    code: "capture-link-unread",
    severity: Severity::Warning,
    severity_note: "",
    title: "Frames of a link type that is not read",
    meaning: "The capture has frames of a link type that spiglass does not read. They are counted and nothing else; an SA or a fault may be in them.",
    causes: &[
        "The capture comes from a pseudo interface of a firewall or a radio, not from Ethernet, PPP, HDLC or raw IP.",
    ],
    remedy: &[
        "Capture on the Ethernet interface, or at a TAP.",
        "If a header of fixed length precedes IP, cut it off: `editcap -C BYTES -T rawip IN OUT`.",
    ],
    lines: &[],
    references: &["https://www.tcpdump.org/linktypes.html"],
};

pub(super) const ONE_MAC_PAIR: Entry = Entry {
    code: "capture-one-mac-pair",
    severity: Severity::Note,
    severity_note: "",
    title: "Both directions bear one pair of MAC addresses",
    meaning: "IP packets run both ways and all frames have the same source and destination MAC. Rates by MAC address hold both directions; \
              utilisation is not given.",
    causes: &["A mirror or packet broker that writes its own addresses on every frame."],
    remedy: &["Read rates per SA, or capture at a passive TAP."],
    lines: &[],
    references: &[],
};

pub(super) const NO_IPSEC: Entry = Entry {
    code: "no-ipsec",
    severity: Severity::Note,
    severity_note: "an error with --expect-ipsec",
    title: "No IPsec seen",
    meaning: "No frame of the captures carries AH, ESP or IPComp. `check` finds nothing wrong because there is nothing to check.",
    causes: &[
        "The tunnel was down or idle, or the traffic does not match its policy and goes in clear.",
        "The capture was taken on another link, or its filter leaves IPsec out.",
    ],
    remedy: &[
        "Send traffic through the tunnel and look at `show crypto ipsec sa` or `ip -s xfrm state` on both gateways.",
        "Capture between the gateways, with a filter such as `esp or ah or udp port 500 or udp port 4500`.",
    ],
    lines: &["show crypto ipsec sa"],
    references: &[],
};

pub(super) const NOT_ESP: Entry = Entry {
    code: "udp-not-esp",
    severity: Severity::Note,
    severity_note: "",
    title: "UDP on the ports of IPsec that is no ESP",
    meaning: "Datagrams on UDP port 500 or 4500, or on a port given with --udp-port, do not behave as ESP: lengths that are no whole words, many \
              SPIs with single packets, or numbers that do not grow by small steps. They count as traffic in clear. A capture that holds \
              only a sample of the packets may show ESP so.",
    causes: &[
        "Another protocol uses the port: OpenVPN, WireGuard, QUIC, DTLS, RTP, TURN, IPFIX or a game.",
        "The capture was sampled (one packet of every N), so the sequence numbers of ESP skip.",
    ],
    remedy: &["If it is ESP, name its SAs with `--config`, or capture from the IKE exchange on."],
    lines: &[],
    references: &["RFC 3948"],
};
