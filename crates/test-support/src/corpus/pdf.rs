//! PDF: cyclic trees, wrong counts, broken tables, and streams that are bombs.

use domain::file::{FileFailureReason, FileStructure, MediaType};

use super::{CorpusBuilder, ExpectedResult};
use crate::sample_files::building_blocks::deflated_zeros;
use crate::sample_files::pdf::{CATALOG, page_tree, pdf_file};

const PAGE: &str = "<< /Type /Page /Parent 2 0 R >>";

fn file(objects: &[impl AsRef<[u8]>], trailer: &str) -> Vec<u8> {
    pdf_file("%PDF-1.5\n", objects, trailer)
}

fn plain(objects: &[impl AsRef<[u8]>]) -> Vec<u8> {
    file(objects, "/Root 1 0 R")
}

/// A flat tree that states the count `said`.
fn pages(count: usize, said: i64) -> Vec<u8> {
    let root = page_tree(count, said);
    let mut objects = vec![CATALOG, &root];
    objects.extend(vec![PAGE; count]);
    plain(&objects)
}

/// A page under that many nodes.
fn deep(depth: usize) -> Vec<u8> {
    let mut objects = vec![CATALOG.to_owned()];
    for at in 0..depth {
        objects.push(format!(
            "<< /Type /Pages /Kids [{} 0 R] /Count 1 >>",
            at + 3
        ));
    }
    objects.push(PAGE.to_owned());
    plain(&objects)
}

pub(super) fn add_files(shelf: &mut CorpusBuilder) {
    let pdf = MediaType::Pdf;
    shelf.add(
        "sound",
        pdf,
        pages(1, 1),
        ExpectedResult::Valid(FileStructure::Pages(1)),
    );
    for said in [-1, 0, 1, 1_000_000_000, i64::MAX] {
        let name = format!("of three pages that says {said}");
        shelf.add(
            &name,
            pdf,
            pages(3, said),
            ExpectedResult::Valid(FileStructure::Pages(3)),
        );
    }
    let most = ExpectedResult::Valid(FileStructure::Pages(100));
    shelf.add("of 100 pages", pdf, pages(100, 100), most);
    for count in [101, 5000] {
        let name = format!("of {count} pages that says 1");
        shelf.add(
            &name,
            pdf,
            pages(count, 1),
            ExpectedResult::Refused(FileFailureReason::TooManyPages),
        );
    }
    let deepest = ExpectedResult::Valid(FileStructure::Pages(1));
    shelf.add("under 64 nodes", pdf, deep(64), deepest);
    shelf.add_malformed("under 65 nodes", pdf, deep(65));
    shelf.add_malformed("under 20000 nodes", pdf, deep(20_000));
    trees(shelf);
    tables(shelf);
    nesting(shelf);
    streams(shelf);
    largest(shelf);
    encryption(shelf);
}

fn trees(shelf: &mut CorpusBuilder) {
    let node = |kids: &str| format!("<< /Type /Pages /Kids [{kids}] /Count 1 >>");
    let mut put = |name: &str, objects: &[&str]| {
        shelf.add_malformed(name, MediaType::Pdf, plain(objects));
    };
    put("whose root is its own kid", &[CATALOG, &node("2 0 R")]);
    put(
        "of a ring of two",
        &[CATALOG, &node("3 0 R"), &node("2 0 R")],
    );
    put("with a page twice", &[CATALOG, &node("3 0 R 3 0 R"), PAGE]);
    put("with a kid that is not there", &[CATALOG, &node("9 0 R")]);
    put("with a kid that is a number", &[CATALOG, &node("7")]);
    put("with a kid that is nothing", &[CATALOG, &node("null")]);
    put("without kids", &[CATALOG, &node("")]);
    put(
        "with kids that are none",
        &[CATALOG, "<< /Type /Pages /Kids 7 /Count 1 >>"],
    );
    put(
        "with kids that are themselves",
        &[CATALOG, "<< /Type /Pages /Kids 2 0 R >>"],
    );
    put("with references in a ring", &[CATALOG, "3 0 R", "2 0 R"]);
    put("of a catalog alone", &[CATALOG]);
    put("whose catalog has no pages", &["<< /Type /Catalog >>"]);
    put("whose catalog is a number", &["7"]);
    put("whose catalog is itself", &["1 0 R"]);
    put(
        "of a page that has kids",
        &[CATALOG, "<< /Type /Page /Kids [] >>"],
    );
    put("of a node that is a font", &[CATALOG, "<< /Type /Font >>"]);
    // Every node has the same hundred kids, and they have the next hundred.
    let wide = |next: usize| node(&format!("{next} 0 R ").repeat(100));
    let layers: Vec<String> = (0..30).map(|at| wide(at + 3)).collect();
    let mut objects = vec![CATALOG];
    objects.extend(layers.iter().map(String::as_str));
    objects.push(PAGE);
    put("that multiplies", &objects);
    let empty: Vec<String> = (0..5000).map(|at| format!("{} 0 R", at + 3)).collect();
    let root = node(&empty.join(" "));
    let hollow = node("");
    let mut objects = vec![CATALOG, &root];
    objects.extend(vec![hollow.as_str(); 5000]);
    put("of thousands of empty nodes", &objects);
}

fn tables(shelf: &mut CorpusBuilder) {
    let sound = String::from_utf8_lossy(&pages(1, 1)).into_owned();
    let start = sound.find("xref\n").unwrap_or(0);
    let body = &sound[..start];
    let mut put = |name: &str, tail: String| {
        let bytes = [body.as_bytes(), tail.as_bytes()].concat();
        shelf.add(name, MediaType::Pdf, bytes, ExpectedResult::AnyFailure);
    };
    put("without a trailer", String::new());
    put(
        "whose trailer has no root",
        format!("xref\n0 0\ntrailer\n<< /Size 4 >>\nstartxref\n{start}\n%%EOF\n"),
    );
    put(
        "whose root is not there",
        format!("xref\n0 0\ntrailer\n<< /Size 4 /Root 9 0 R >>\nstartxref\n{start}\n%%EOF\n"),
    );
    let tables = [
        ("whose table is its own previous", format!("/Prev {start}")),
        ("whose previous table is negative", "/Prev -5".to_owned()),
        (
            "whose previous table is far away",
            "/Prev 99999999999".to_owned(),
        ),
        (
            "with a stream of references in a ring",
            format!("/XRefStm {start}"),
        ),
    ];
    for (name, more) in tables {
        let table = &sound[start..].replace("/Size", &format!("{more} /Size"));
        // Readers may repair this. They must come to an end, with a page or without.
        let bytes = [body.as_bytes(), table.as_bytes()].concat();
        shelf.add(
            name,
            MediaType::Pdf,
            bytes,
            ExpectedResult::ValidOrFailure(FileStructure::Pages(1)),
        );
    }
    let repairs = [
        (
            "whose table is beyond the end",
            "startxref\n",
            "startxref\n9",
        ),
        (
            "whose table is longer than the file",
            "xref\n0 4",
            "xref\n0 999999999",
        ),
        (
            "whose table has numbers beyond all",
            "xref\n0 4",
            "xref\n4294967290 4",
        ),
        ("of a size beyond all", "/Size 4", "/Size 4294967295"),
        ("of a negative size", "/Size 4", "/Size -4"),
        ("with offsets beyond the end", "00000 n", "99999 n"),
        ("cut off in its table", "%%EOF", ""),
    ];
    for (name, from, to) in repairs {
        let bytes = sound.replace(from, to).into_bytes();
        shelf.add(
            name,
            MediaType::Pdf,
            bytes,
            ExpectedResult::ValidOrFailure(FileStructure::Pages(1)),
        );
    }
}

fn nesting(shelf: &mut CorpusBuilder) {
    for depth in [200, 20_000, 2_000_000] {
        for (name, open, close) in [
            ("arrays", "[", "]"),
            ("dictionaries", "<</A ", ">>"),
            ("texts", "(", ")"),
        ] {
            let nested = [open.repeat(depth), close.repeat(depth)].concat();
            let root = format!("<< /Type /Pages /Kids {nested} >>");
            let name = format!("with {depth} {name} in one another");
            shelf.add_malformed(&name, MediaType::Pdf, plain(&[CATALOG, &root]));
        }
    }
    let open = format!("<< /Type /Pages /Kids {}", "[".repeat(100_000));
    shelf.add_malformed(
        "that never closes",
        MediaType::Pdf,
        plain(&[CATALOG, &open]),
    );
}

/// A file whose page tree is in an object stream.
fn objects_in_a_stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let mut whole = b"%PDF-1.5\n".to_vec();
    let container = whole.len();
    let length = content.len();
    whole.extend(
        format!("4 0 obj\n<< /Type /ObjStm /Length {length} {dictionary} >>\nstream\n").bytes(),
    );
    whole.extend(content);
    whole.extend(b"\nendstream\nendobj\n");
    let start = whole.len();
    let entry = |kind: u8, first: usize, second: u8| {
        let first = u32::try_from(first).unwrap_or(u32::MAX).to_be_bytes();
        [&[kind], first.as_slice(), &[second]].concat()
    };
    let entries = [
        entry(0, 0, 0),
        entry(2, 4, 0),
        entry(2, 4, 1),
        entry(2, 4, 2),
        entry(1, container, 0),
        entry(1, start, 0),
    ]
    .concat();
    let length = entries.len();
    whole.extend(
        format!(
            "5 0 obj\n<< /Type /XRef /Size 6 /W [1 4 1] /Root 1 0 R /Length {length} >>\nstream\n"
        )
        .bytes(),
    );
    whole.extend(entries);
    whole.extend(format!("\nendstream\nendobj\nstartxref\n{start}\n%%EOF\n").bytes());
    whole
}

fn streams(shelf: &mut CorpusBuilder) {
    let root = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>";
    let second = CATALOG.len() + 1;
    let third = second + root.len() + 1;
    let index = format!("1 0 2 {second} 3 {third} ");
    let content = format!("{index}{CATALOG} {root} {PAGE}");
    let right = format!("/N 3 /First {}", index.len());
    let sound = ExpectedResult::Valid(FileStructure::Pages(1));
    let bytes = objects_in_a_stream(&right, content.as_bytes());
    shelf.add("with its tree in a stream", MediaType::Pdf, bytes, sound);
    let mut put = |name: &str, dictionary: &str, content: &[u8]| {
        let bytes = objects_in_a_stream(dictionary, content);
        shelf.add(name, MediaType::Pdf, bytes, ExpectedResult::AnyFailure);
    };
    let content = content.as_bytes();
    put(
        "with a stream that begins beyond its end",
        "/N 3 /First 99999999",
        content,
    );
    put(
        "with a stream that begins before itself",
        "/N 3 /First -1",
        content,
    );
    put("with a stream of no objects", "/N 0 /First 0", content);
    put(
        "with a stream inside itself",
        "/N 3 /First 12 /Extends 4 0 R",
        b"4 0 4 0 4 0 ",
    );
    let filter = "/Filter /FlateDecode /N 3 /First 20";
    put("with a stream that is not deflated", filter, content);
    put(
        "with a stream of 64 MB in a few KB",
        filter,
        &deflated_zeros(64 << 20),
    );
    put(
        "with a stream of 1 GB in a few MB",
        filter,
        &deflated_zeros(1 << 30),
    );
    let many = "/Filter /FlateDecode /N 2000000000 /First 2000000000";
    put(
        "with a stream of two billion objects",
        many,
        &deflated_zeros(1 << 20),
    );
    let twice = "/Filter [/FlateDecode /FlateDecode] /N 3 /First 20";
    put(
        "with a stream deflated twice",
        twice,
        &deflated_zeros(32 << 20),
    );
    let filters = format!(
        "/Filter [{}] /N 3 /First 20",
        "/ASCIIHexDecode ".repeat(10_000)
    );
    put("with ten thousand filters", &filters, content);
    let predictor = "/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 2147483647 /Colors 64 /BitsPerComponent 64 >> /N 3 /First 20";
    put(
        "with a row of absurd width",
        predictor,
        &deflated_zeros(1 << 20),
    );
    // Found by mutating the one above: two rows of it would take 33 GB.
    let predictor = "/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 2147483647 /Colors 8 /BitsPerComponent 8 >> /N 3 /First 20";
    put("with a row of 16 GB", predictor, &deflated_zeros(1 << 20));
}

/// A file of nearly the largest size. Most of it is one stream, as in a scan.
fn largest(shelf: &mut CorpusBuilder) {
    let length = 49 << 20;
    let mut stream = format!("<< /Length {length} >>\nstream\n").into_bytes();
    stream.resize(stream.len() + length, b'7');
    stream.extend(b"\nendstream");
    let root = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>";
    let mut objects: Vec<Vec<u8>> = [CATALOG, root, PAGE]
        .map(|it| it.as_bytes().to_vec())
        .into();
    objects.push(stream);
    let bytes = file(&objects, "/Root 1 0 R");
    let sound = ExpectedResult::Valid(FileStructure::Pages(1));
    shelf.add(
        "nearly as large as it may be",
        MediaType::Pdf,
        bytes.clone(),
        sound,
    );
    let longer = [bytes, vec![b' '; 1 << 20]].concat();
    shelf.add_malformed("larger than it may be", MediaType::Pdf, longer);
}

fn encryption(shelf: &mut CorpusBuilder) {
    let locked = ExpectedResult::Refused(FileFailureReason::EncryptedDocument);
    let objects = [
        CATALOG,
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        PAGE,
        "<< /Filter /Standard /V 1 /R 2 /O <00> /U <00> /P -4 >>",
        "<< /Filter /Adobe.PubSec /V 4 >>",
    ];
    for (name, lock) in [
        ("with a lock", "/Encrypt 4 0 R /ID [<00> <00>]"),
        ("with a lock and no id", "/Encrypt 4 0 R"),
        ("with a lock of another maker", "/Encrypt 5 0 R"),
        ("with a lock that is not there", "/Encrypt 9 0 R"),
        ("with a lock that is empty", "/Encrypt << >>"),
        ("with a lock that is a number", "/Encrypt 7"),
    ] {
        let bytes = file(&objects, &format!("/Root 1 0 R {lock}"));
        shelf.add(name, MediaType::Pdf, bytes, locked);
    }
}
