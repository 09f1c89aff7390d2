//! PDF documents of empty pages.

use super::unique_text;

pub(crate) const CATALOG: &str = "<< /Type /Catalog /Pages 2 0 R >>";

pub fn document(pages: usize) -> Vec<u8> {
    let root = page_tree(pages, pages);
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Resources << >> >>";
    let mut objects = vec![CATALOG, &root];
    objects.resize(pages + 2, page);
    let head = format!("%PDF-1.4\n%{}\n", unique_text());
    pdf_file(&head, &objects, "/Root 1 0 R")
}

/// The root of that many pages, which are the objects from 3 on. It states the count `stated`.
pub(crate) fn page_tree(pages: usize, stated: impl std::fmt::Display) -> String {
    let kids: Vec<String> = (0..pages).map(|at| format!("{} 0 R", at + 3)).collect();
    let kids = kids.join(" ");
    format!("<< /Type /Pages /Kids [{kids}] /Count {stated} >>")
}

/// A file of those objects, numbered from 1, with a correct table.
pub(crate) fn pdf_file(head: &str, objects: &[impl AsRef<[u8]>], trailer: &str) -> Vec<u8> {
    let mut whole = head.as_bytes().to_vec();
    let size = objects.len() + 1;
    let mut table = format!("xref\n0 {size}\n0000000000 65535 f \n").into_bytes();
    for (number, object) in (1..).zip(objects) {
        table.extend(format!("{:010} 00000 n \n", whole.len()).bytes());
        whole.extend(format!("{number} 0 obj\n").bytes());
        whole.extend(object.as_ref());
        whole.extend(b"\nendobj\n");
    }
    let start = whole.len();
    whole.extend(table);
    let end = format!("trailer\n<< /Size {size} {trailer} >>\nstartxref\n{start}\n%%EOF\n");
    whole.extend(end.bytes());
    whole
}
