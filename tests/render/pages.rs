//! Pages of every kind of report: what stands on them, and that they are sound, small, and the same each time.

use crate::markup::{Page, read};
use crate::support::build::{R1, R2, START, esp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{fixture, scratch, shared, spiglass, write_file};

/// The page that a command prints.
pub fn page(args: &[&str]) -> (String, Page) {
    let html = spiglass(&[args, &["--format", "html"]].concat()).text().to_owned();
    let page = read(&html);
    (html, page)
}

/// Pages are the same each time.
fn twice(args: &[&str]) -> (String, Page) {
    let (html, first) = page(args);
    assert_eq!(html, page(args).0, "the same input gives the same bytes");
    (html, first)
}

fn path(name: &str) -> String {
    fixture(name).to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn visible_sizes_have_bars_and_shares() {
    let capture = path("lab/ah-sha256-tunnel.pcap");
    let (html, page) = twice(&["report", &capture]);
    assert!(html.len() < 120_000, "{} bytes", html.len());
    assert_eq!(page.title(), "What IPsec costs between 192.168.1.1 and 192.168.1.2");
    assert!(
        page.text.contains("Packets of 40 to 1\u{202f}500\u{202f}bytes pay  52 bytes")
            || page.text.contains("52\u{202f}bytes")
    );
    assert!(page.count("figure") >= 2, "overhead and share are drawn");
    assert!(page.text.contains("ah-padding-leak") && page.text.contains("Likely cause"));
    for heading in
        ["Overhead by packet size", "Findings", "Security associations", "How sure this is", "Captures", "Tables"]
    {
        assert!(page.headings.iter().any(|(_, text)| text == heading), "{heading}");
    }
}

#[test]
fn pairs_have_latency_with_its_uncertainty() {
    let Some(lab) = shared("lab") else { return };
    let of = |name: &str| lab.join("esp-aes128-cbc-sha1").join(name).to_str().expect("UTF-8").to_owned();
    let (plain, tunnel) = (of("plain-a.pcap"), of("tunnel.pcap"));
    let (html, page) = twice(&["match", "--plain", &plain, "--tunnel", &tunnel]);
    assert!(html.len() < 120_000, "{} bytes", html.len());
    let titles: Vec<&str> =
        page.headings.iter().filter(|(level, _)| *level == 3).map(|(_, text)| text.as_str()).collect();
    assert!(titles.iter().any(|title| title.ends_with("padding is what varies")), "{titles:?}");
    assert!(titles.iter().any(|title| title.contains("known to within")), "{titles:?}");
    assert!(page.text.contains("calculated for"), "the saw-tooth of the transform is drawn");
    assert!(page.text.contains("The measured overhead equals the prediction of the inferred transform at all"));
}

#[test]
fn load_steps_show_rates_and_losses() {
    let Some(lab) = shared("lab") else { return };
    let of = |name: &str| lab.join("steps-512-before-tap").join(name).to_str().expect("UTF-8").to_owned();
    let (plain, tunnel) = (of("plain-a.pcap"), of("tunnel.pcap"));
    let taps = [format!("plain={plain}"), format!("tunnel={tunnel}")];
    let (html, page) = twice(&["report", "--bin", "500ms", "--tap", &taps[0], "--tap", &taps[1]]);
    assert!(html.len() < 120_000, "{} bytes", html.len());
    assert!(page.text.contains("layer 1 rate") && html.contains("carriedl"), "rates over time are drawn");
    // Packets of one length that are lost in rows leave the pairs open: nothing is said of the loss.
    let (_, page) = twice(&["match", "--plain", &plain, "--tunnel", &tunnel]);
    assert!(
        page.text.contains("Not determined") && !page.text.contains("lost before the tunnel tap,"),
        "{}",
        page.text
    );
    let of = |name: &str| lab.join("loss-before-tap").join(name).to_str().expect("UTF-8").to_owned();
    let (_, page) = twice(&["match", "--plain", &of("plain-a.pcap"), "--tunnel", &of("tunnel.pcap")]);
    let lost = page.headings.iter().any(|(level, text)| {
        *level == 3 && text.contains("10 of 1\u{202f}200\u{202f}packets were lost before the tunnel tap")
    });
    assert!(lost, "{:?}", page.headings);
}

#[test]
fn a_broken_pair_shows_lines_and_fixes_first() {
    let pair = path("policy/test06-broken-pair.txt");
    let (html, page) = twice(&["check", "--config", &pair]);
    assert!(html.len() < 120_000, "{} bytes", html.len());
    assert!(page.text.contains("Lines of the configurations:") && page.text.contains("type:"), "{}", page.text);
    let at = |heading: &str| page.headings.iter().position(|(_, text)| text == heading);
    assert_eq!(at("Findings"), Some(1), "errors come first: {:?}", page.headings);
    let json = spiglass(&["check", "--config", &pair, "--format", "json"]).json();
    let fixes: Vec<&str> = json["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|finding| finding["fix"].as_array().into_iter().flatten())
        .flat_map(|fix| fix["lines"].as_array().into_iter().flatten())
        .filter_map(serde_json::Value::as_str)
        .collect();
    assert!(!fixes.is_empty() && fixes.iter().all(|line| page.text.contains(line.trim())), "{fixes:?}");
}

/// A capture of `n` SAs with a few packets each, and some clear traffic.
fn many(n: u32) -> Vec<u8> {
    let mut frames = Vec::new();
    for sa in 0..n {
        for number in 1..=(3 + sa % 7) {
            let time = START + u64::from(number) * 1_000_000_000 + u64::from(sa) * 1_000;
            frames.push(Out::whole(time, esp(R1, R2, 1000 + sa, number * (1 + sa % 2), &[0xa5; 68])));
        }
    }
    frames.sort_by_key(|frame| frame.time_ns);
    plain_pcap(&frames)
}

#[test]
fn hundreds_of_sas_show_their_top_rows() {
    let dir = scratch("render-many");
    let capture = write_file(&dir, "many.pcap", &many(200));
    let (html, page) = twice(&["report", capture.to_str().expect("UTF-8")]);
    assert!(html.len() < 400_000, "{} bytes", html.len());
    assert!(page.text.contains("and 180 more SAs;"), "the others are counted");
    assert!(page.text.contains("more sequence-gap"), "findings too");
}

#[test]
fn an_empty_capture_says_so() {
    let dir = scratch("render-empty");
    let capture = write_file(&dir, "empty.pcap", &plain_pcap(&[]));
    let (_, page) = twice(&["report", capture.to_str().expect("UTF-8")]);
    assert_eq!(page.title(), "Captures without frames");
    assert_eq!(page.count("figure"), 0);
    assert!(page.text.contains("was read, so there is nothing to measure."), "{}", page.text);
    let name = capture.to_str().expect("UTF-8");
    let (_, page) = twice(&["match", "--plain", name, "--tunnel", name]);
    assert!(page.text.contains("No packet was paired") && page.count("figure") == 0, "{}", page.text);
}

#[test]
fn a_capture_with_clear_traffic_alone_says_so() {
    let (_, page) = twice(&["report", &path("seeds/plain.pcap")]);
    assert_eq!(page.title(), "Captures without IPsec");
    assert!(page.text.contains("No IPsec and no IP tunnel") && !page.text.contains("pays"), "{}", page.text);
}

#[test]
fn transforms_are_calculated_not_measured() {
    let (html, page) = twice(&["calc", "--transform", "aes256-sha1"]);
    assert!(html.len() < 120_000);
    assert!(page.text.contains("No packet was measured") && page.count("figure") == 1, "{}", page.text);
    let (_, page) = twice(&["calc", "--transform", "aes256-sha1", "--transform", "aes128gcm16", "--sizes", "64"]);
    assert!(page.text.contains("2 transforms") && page.count("figure") == 0, "{}", page.text);
    twice(&["calc", "--overhead-bytes", "57", "--frame-sizes", "64,1518"]);
}

/// Every capture at hand makes a sound page.
#[test]
fn every_capture_makes_a_sound_page() {
    let own = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut seen = 0;
    let folders = [Some(own.join("lab")), Some(own.join("seeds")), Some(own.join("crashes")), shared("corpus")];
    for folder in folders.into_iter().flatten() {
        let mut files: Vec<_> =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.is_file()).take(80) {
            let name = file.to_str().expect("UTF-8");
            let run = spiglass(&["report", name, "--format", "html", "-q"]);
            if !run.text().is_empty() {
                read(run.text());
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen} pages");
}

/// From a finding to its SA, from there to the direction and back to the findings, also where several reports are on one page.
#[test]
fn findings_associations_and_directions_lead_to_each_other() {
    let (html, _) = page(&["report", &path("lab/loss-before-tap-tunnel.pcap")]);
    let between = |from: &str, to: &str| {
        let rest = html.split_once(from).unwrap_or_else(|| panic!("no {from}")).1;
        rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0.to_owned()
    };
    let finding = between("<li class=\"finding\" id=\"f0n1\">", "</li>");
    let row = finding.split_once("<p class=\"concerns\"><a href=\"#").expect("it leads to its SA").1;
    let (row, name) = row.split_once("\">").expect("a link");
    let name = name.split_once("</a>").expect("a link").0;
    let association = between(&format!("id=\"{row}\">"), "</tr>");
    assert!(association.contains("href=\"#f0n1\" aria-label=\"finding 1\""), "{association}");
    let spi = name.split(' ').find(|word| word.starts_with("0x")).expect("an SPI");
    assert!(association.contains(spi), "{association} is not {name}");
    let direction = association.split("<a href=\"#r").nth(1).expect("it leads to its direction");
    let rates = between(&format!("id=\"r{}\">", direction.split_once("\">").expect("a link").0), "</tr>");
    let json = spiglass(&["report", "--format", "json", &path("lab/loss-before-tap-tunnel.pcap")]).json();
    let of_spi = |rate: &&serde_json::Value| rate["sas"].to_string().contains(spi);
    let known = json["rates"]["directions"].as_array().expect("rates").iter().find(of_spi).expect("its direction");
    let known = known["direction"].as_str().expect("a direction").replace('>', "&gt;");
    assert!(rates.contains(&known), "{rates} is not {known}");

    let dir = scratch("render-links");
    let json = |name: &str, capture: &str| {
        let report = spiglass(&["report", "--format", "json", &path(capture)]).expect(0);
        write_file(&dir, name, report.stdout.as_ref()).to_str().expect("UTF-8").to_owned()
    };
    let one = json("one.json", "lab/loss-before-tap-tunnel.pcap");
    let other = json("other.json", "seeds/test06-esp-null-broken.pcap");
    let both = read(spiglass(&["render", &one, &other]).text());
    let targets = both.values("href");
    for output in ["#f0n", "#f1n", "#r"] {
        assert!(targets.iter().any(|target| target.starts_with(output)), "{output}: {targets:?}");
    }
}
