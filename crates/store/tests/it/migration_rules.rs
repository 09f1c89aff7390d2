//! What a migration file must not do: hold a lock while it reads or writes many rows, or take away
//! what the version before needs. See docs/decisions/0038.

use std::fs;
use std::path::Path;

use store::tables::TABLES;

/// Files up to these landed before the rules.
const LAST_EXEMPT: [(&str, i64); 2] = [("control", 6), ("shard", 12)];
const STEP: &str = "make it an online step (crates/store/src/migrate/online_step.rs)";
const LITERALS: &[&str] = &["null", "true", "false", "now()"];

#[test]
fn migrations_hold_no_lock_for_long() {
    let mut violations = Vec::new();
    for (schema, exempt) in LAST_EXEMPT {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
        let files = fs::read_dir(folder.join(schema)).unwrap();
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap().to_str().unwrap();
            let number: i64 = name.split('_').next().unwrap().parse().unwrap();
            if number > exempt {
                let found = find_violations(&fs::read_to_string(&path).unwrap());
                violations.extend(found.into_iter().map(|it| format!("{schema}/{name}: {it}")));
            }
        }
    }
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn what_is_quick_is_allowed() {
    let sql = "
        -- create index on shard.cargo (model);
        create table shard.fresh (id uuid primary key, cargo uuid not null);
        create index fresh_cargo on shard.fresh (cargo);
        insert into shard.fresh (id, cargo) values ('…', '…');
        alter table shard.cargo add column note text, add column size bigint not null default 0;
        alter table shard.cargo add constraint cargo_size check (size >= 0) not valid;
        alter table shard.lane drop constraint lane_via_check;
        create index lane_model on shard.lane (model);
        select shard.make_day(to_date(right(c.relname, 8), 'YYYYMMDD')) from pg_inherits i
            where i.inhparent = 'shard.cargo'::regclass;
        create or replace function shard.touch() returns void language sql as $$
            update shard.cargo set note = null; drop table shard.cargo
        $$;";
    assert_eq!(find_violations(sql), [""; 0]);
}

#[test]
fn what_holds_a_lock_for_long_is_found() {
    let cases = [
        (
            "create index cargo_model on shard.cargo (model)",
            "builds an index of shard.cargo",
        ),
        (
            "create unique index on only shard.outcome (cargo)",
            "builds an index of shard.outcome",
        ),
        (
            "alter table shard.cargo add column nonce uuid default gen_random_uuid()",
            "adds a column to shard.cargo whose default is not a literal",
        ),
        (
            "alter table shard.file add column place bigint generated always as identity",
            "rewrites shard.file",
        ),
        (
            "alter table shard.cargo alter column attempt type bigint",
            "rewrites shard.cargo",
        ),
        (
            "alter table shard.outcome alter column failure_code set not null",
            "reads all rows of shard.outcome",
        ),
        (
            "alter table shard.cargo add constraint c check (attempt > 0)",
            "reads all rows of shard.cargo",
        ),
        (
            "update shard.cargo set route_reason = 'none'",
            "changes rows of shard.cargo",
        ),
        ("delete from shard.posting", "changes rows of shard.posting"),
        (
            "insert into shard.lane select distinct model from shard.cargo",
            "reads rows of shard.cargo",
        ),
        (
            "do $$ begin update shard.cargo set route_reason = 'none'; end $$",
            "runs a block on shard.cargo",
        ),
        ("vacuum full shard.batch", "rewrites shard.batch"),
        (
            "alter table shard.lane drop column refused_since",
            "removes what the version before needs",
        ),
        (
            "drop table shard.share",
            "removes what the version before needs",
        ),
        (
            "alter table control.project rename column slug to name",
            "removes what the version before needs",
        ),
    ];
    for (sql, expected) in cases {
        let found = find_violations(sql);
        assert_eq!(found.len(), 1, "{sql}: {found:?}");
        assert!(found[0].starts_with(expected), "{sql}: {}", found[0]);
        assert!(found[0].contains(": "), "{} says what to do", found[0]);
    }
}

/// The violations of one file, each with what to do instead.
fn find_violations(sql: &str) -> Vec<String> {
    let statements = split_statements(sql);
    let created: Vec<String> = statements
        .iter()
        .filter(|words| words.starts_with("create ") && words.contains(" table "))
        .filter_map(|words| table_names(words).next())
        .collect();
    let check = |words: &String| find_violation(words, &created);
    statements.iter().filter_map(check).collect()
}

fn find_violation(words: &str, created: &[String]) -> Option<String> {
    let is_removal = words.starts_with("drop table")
        || words.contains(" drop column ")
        || words.starts_with("alter ") && words.contains(" rename ");
    if is_removal {
        return Some(
            "removes what the version before needs: do it in the release after the one that no \
             longer uses it, and exempt it here"
                .to_owned(),
        );
    }
    let large = table_names(words).find(|name| !created.contains(name) && is_large(name))?;
    let starts_with = |starts: &[&str]| starts.iter().any(|start| words.starts_with(start));
    let contains = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    if starts_with(&["create index", "create unique index", "reindex"]) {
        return Some(format!("builds an index of {large}: {STEP}"));
    }
    if starts_with(&["update ", "delete ", "truncate ", "merge "]) {
        return Some(format!("changes rows of {large}: {STEP}"));
    }
    if starts_with(&["insert ", "select ", "with ", "create materialized"])
        && contains(&[" from ", " join "])
    {
        return Some(format!("reads rows of {large}: {STEP}"));
    }
    if starts_with(&["do "]) {
        return Some(format!("runs a block on {large}: {STEP}"));
    }
    if starts_with(&["cluster ", "vacuum "]) {
        return Some(format!("rewrites {large}: leave it out"));
    }
    if !words.starts_with("alter table ") {
        return None;
    }
    if contains(&[
        " type ",
        " as identity",
        " stored",
        " set logged",
        " set unlogged",
        "serial",
    ]) {
        return Some(format!(
            "rewrites {large}: add a new column, and fill it in an online step"
        ));
    }
    let adds_constraint = contains(&[
        " add constraint ",
        " add check ",
        " add foreign ",
        " add primary ",
        " add unique ",
    ]);
    if contains(&[" set not null"]) || adds_constraint && !words.contains(" not valid") {
        return Some(format!(
            "reads all rows of {large}: add the constraint as `not valid`, and validate it in an \
             online step"
        ));
    }
    let mut defaults = words.split(" default ").skip(1);
    defaults.find(|text| !is_literal(text)).map(|_| {
        format!(
            "adds a column to {large} whose default is not a literal: add it without a default, \
             and fill it in an online step"
        )
    })
}

/// PostgreSQL stores such a default once, instead of in each row.
fn is_literal(text: &str) -> bool {
    let value = text.split([' ', ',']).next().unwrap_or_default();
    LITERALS.contains(&value) || value.starts_with('\'') || value.parse::<f64>().is_ok()
}

fn is_large(name: &str) -> bool {
    TABLES
        .iter()
        .any(|table| format!("{}.{}", table.schema, table.name) == name && table.is_large())
}

/// The tables that a statement names, in its order.
fn table_names(words: &str) -> impl Iterator<Item = String> {
    let names = words.split(|it: char| !it.is_alphanumeric() && it != '_' && it != '.');
    let names = names.filter(|name| name.starts_with("shard.") || name.starts_with("control."));
    names.map(str::to_owned)
}

/// Statements in lower case with single spaces, without comments, texts and bodies of functions.
fn split_statements(sql: &str) -> Vec<String> {
    let lines = sql
        .lines()
        .map(|line| line.split("--").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join(" ").to_lowercase();
    let mut outside = String::new();
    for (place, part) in text.split("$$").enumerate() {
        // The body of a `do` runs in the migration.
        if place % 2 == 0 {
            outside.push_str(part);
        } else if outside.trim_end().ends_with("do") {
            outside.push_str(&part.replace(';', " "));
        }
    }
    let without_texts: Vec<&str> = outside.split('\'').step_by(2).collect();
    let without_texts = without_texts.join("''");
    let statements = without_texts.split(';').map(|statement| {
        let words: Vec<&str> = statement.split_whitespace().collect();
        words.join(" ")
    });
    statements.filter(|words| !words.is_empty()).collect()
}
