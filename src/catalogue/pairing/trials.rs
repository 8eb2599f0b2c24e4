//! Findings of `spiglass trials`.

use crate::catalogue::Entry;
use crate::model::report::Severity;

pub(in crate::catalogue) const SWAPPED: Entry = Entry {
    code: "taps-swapped",
    severity: Severity::Error,
    severity_note: "",
    title: "The taps are swapped: more packets go out than come in",
    meaning: "The tap that was given as the first one shows fewer packets of the test load than the tap after it, or the capture given as the \
              tunnel shows no IPsec and the one given as plain does. A device creates no packets, so rates, loss and latency of this run \
              mean nothing.",
    causes: &[
        "The captures were named in the wrong order.",
        "The first capture lost frames, or the last one shows frames twice.",
        "The clocks of the captures differ although `--one-clock` was given: what leaves seems to come in.",
    ],
    remedy: &[
        "Exchange the captures of `--plain` and `--tunnel`, of `--plain` and `--exit`, or of `--in` and `--out`.",
        "Check both captures for lost frames with `spiglass report`.",
    ],
    lines: &[],
    references: &[],
};

pub(in crate::catalogue) const STALLED: Entry = Entry {
    code: "trial-stalled",
    severity: Severity::Warning,
    severity_note: "",
    title: "The device stopped forwarding during a trial",
    meaning: "For more than 100 ms no packet came out although at least ten came in. The trial counts for no throughput: its rates are those of \
              a device that stood still for a part of it.",
    causes: &[
        "The device rebooted or reloaded its crypto engine.",
        "A routing protocol, a rekeying or another process took all of its CPU.",
        "The link between the taps went down.",
    ],
    remedy: &[
        "Repeat the trial with the same load.",
        "Look at the log and the uptime of the device for the time that is stated.",
    ],
    lines: &[],
    references: &[],
};

pub(in crate::catalogue) const LOSSY: Entry = Entry {
    code: "trial-lossy",
    severity: Severity::Warning,
    severity_note: "",
    title: "Packets are missing although no queue was seen",
    meaning: "Packets of the trial did not reach the last tap, but most of those that did had hardly waited: no queue grew. Either the loss \
              does not come from the load, and throughput without loss (RFC 1242) measures its cause and not the device, or the device has \
              room for so few packets that bursts of the load fill it. A second load that is higher by 5 % or more tells: if no more comes \
              out of it, the device is at its limit, and the trials are listed as overloaded.",
    causes: &[
        "A link with bit errors, or a duplex mismatch.",
        "A policer that drops above a rate without a queue.",
        "A device with room for few packets, at its limit, or below it with a load that comes in bursts.",
        "The last tap missed frames: what is missing behind the tunnel's tap may have been lost on the way to the last one, or there.",
    ],
    remedy: &[
        "Compare error counters of the interfaces on the way.",
        "Repeat the trial at half of the load: loss of a bad link stays in per cent, a policer's ends.",
    ],
    lines: &[],
    references: &["RFC 2544 section 26.3"],
};

pub(in crate::catalogue) const NOT_MONOTONE: Entry = Entry {
    code: "loss-not-monotone",
    severity: Severity::Warning,
    severity_note: "",
    title: "A higher load passed without loss, a lower one did not",
    meaning: "Among trials of one size, a load without loss lies above a load with loss. A search that halves its steps may then end anywhere \
              between them. The throughput that is stated is the highest load without loss.",
    causes: &[
        "Something besides the test load took the device's time during the lower trial.",
        "Loss that does not depend on the load: a bad link.",
        "Frames of the trial before were still inside when the lower one began.",
    ],
    remedy: &["Repeat both loads, with a pause of some seconds before each and for at least 60 s."],
    lines: &[],
    references: &["RFC 2544 sections 24 and 26.1"],
};

pub(in crate::catalogue) const SHORT: Entry = Entry {
    code: "trial-short",
    severity: Severity::Note,
    severity_note: "",
    title: "Trials are shorter than 60 s",
    meaning: "RFC 2544 section 24 asks for trials of at least 60 s. In short ones a buffer takes up what the device cannot forward: RFC 1242 \
              throughput comes out too high, by the buffer divided by the duration. Equilibrium throughput does not depend on it.",
    causes: &["Short trials save time in a search."],
    remedy: &["Repeat the loads at the ends of the bracket for 60 s.", "Compare rows of different `trial_seconds`."],
    lines: &[],
    references: &["RFC 2544 section 24", "RFC 1242 section 3.17"],
};

pub(in crate::catalogue) const CARRIED_IN: Entry = Entry {
    code: "trial-carried-in",
    severity: Severity::Note,
    severity_note: "",
    title: "Packets of the trial before were still inside when a trial began",
    meaning: "The queue had not drained when the next load began, so that the first packets waited for those of the trial before. Its \
              latencies and its loss are partly the other trial's.",
    causes: &["The loads follow each other without a pause.", "The device's buffer takes long to drain."],
    remedy: &["Pause between loads for longer than the device takes to drain, 2 s or more."],
    lines: &[],
    references: &["RFC 2544 section 23"],
};

pub(in crate::catalogue) const NONE: Entry = Entry {
    code: "trials-none",
    severity: Severity::Note,
    severity_note: "",
    title: "No trial was found",
    meaning: "No stretch of the traffic is a load that was kept up for half a second or more. The segments that were seen are listed with the \
              reason why each is no trial.",
    causes: &[
        "The captures hold no benchmark run, or TCP transfers alone, which are listed apart.",
        "The loads are shorter than --min-seconds, or interrupted for longer than --trial-gap.",
        "The load rises or falls all the time.",
        "The capture of the last tap begins or ends within the only load.",
        "The captures are of another time or another link.",
    ],
    remedy: &["Compare with `spiglass report`.", "Give the times of the trials with `--trials FILE.csv`."],
    lines: &["start_ns,seconds,direction"],
    references: &[],
};
