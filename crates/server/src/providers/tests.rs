//! The accounts: what they take, what is said of the rest, and that no credential is ever shown.

use std::ffi::OsString;
use std::sync::Arc;

use chrono::TimeDelta;
use outbound::provider::call::Patience;
use workers::Access;

use super::*;

const SECRET: &str = "sk-secret-0123456789";

/// Where every credential of the tests is.
fn environment(name: &str) -> Option<OsString> {
    match name {
        "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" | "SAME_API_KEY" | "GEMINI_API_KEY" => {
            Some(SECRET.into())
        }
        "SPACED" => Some(format!("{SECRET} {SECRET}").into()),
        "BLANK" => Some(" \n".into()),
        _ => None,
    }
}

fn parsed(text: &str) -> Result<Accounts, String> {
    parse(text, &["north", "south"], Credentials::Read(&environment))
}

/// On the shards north and south.
pub(crate) fn accounts(text: &str) -> Accounts {
    parsed(text).unwrap()
}

/// The same, for who asks no provider.
pub(crate) fn unread(text: &str) -> Accounts {
    parse(text, &["north", "south"], Credentials::Unread).unwrap()
}

fn faults(text: &str) -> String {
    let faults = parsed(text).unwrap_err();
    assert!(!faults.contains(SECRET), "{faults}");
    faults
}

#[test]
fn without_a_file_there_are_no_accounts() {
    let none = Accounts::open(None, &["north"], Credentials::Unread).unwrap();
    assert_eq!(none.names().count(), 0);
    assert_eq!(none.shards().collect::<Vec<_>>(), ["north"]);
    assert_eq!(accounts("").names().count(), 0);
}

#[test]
fn an_account_is_read_with_all_its_fields() {
    let accounts = accounts(
        r#"
        [[provider]]
        name = "openai-main"
        kind = "openai"
        base_url = "https://openai.example/v1"
        credential_env = "OPENAI_API_KEY"
        shards = { north = 3, south = 1 }
        price_factor = "0.4"
        [provider.limits]
        job_items = 10_000
        job_bytes = "100 MB"
        job_tokens = 500_000
        enqueued_tokens = 4_000_000
        questions = 8
        linger_seconds = 30
        grace_seconds = 90
        create_seconds = 45
    "#,
    );
    let account = accounts.find("openai-main").unwrap();
    assert_eq!(account.base.as_str(), "https://openai.example/v1");
    let source = Source::Variable("OPENAI_API_KEY".to_owned());
    assert_eq!(account.source, Some(source));
    assert_eq!(account.credential, Some(Credential::new(SECRET)));
    assert_eq!(account.price_factor, Money(400_000_000));
    let share = |tokens, questions| Share {
        most_items: 10_000,
        most_bytes: 100_000_000,
        most_tokens: 500_000,
        most_enqueued_tokens: tokens,
        most_questions: questions,
        linger: TimeDelta::seconds(30),
        grace: TimeDelta::seconds(90),
        create_timeout: TimeDelta::seconds(45),
    };
    assert_eq!(account.shares["north"], share(3_000_000, 6));
    assert_eq!(account.shares["south"], share(1_000_000, 2));
}

#[test]
fn what_is_left_out_is_as_the_provider_has_it() {
    let accounts = accounts(
        r#"
        provider = [
            { name = "o", kind = "openai", credential_env = "OPENAI_API_KEY" },
            { name = "a", kind = "anthropic", credential_env = "ANTHROPIC_API_KEY", shards = { south = 1 } },
            { name = "g", kind = "gemini", credential_env = "GEMINI_API_KEY" },
            { name = "s", kind = "server", base_url = "http://localhost:8000/v1" },
        ]
    "#,
    );
    let told: Vec<String> = accounts
        .iter()
        .map(|it| {
            let shards: Vec<_> = it.shares.keys().map(String::as_str).collect();
            let (limits, factor) = (it.limits, it.price_factor);
            format!(
                "{} {} {} items {} bytes {} enqueued {:?} price {factor}",
                it.name,
                it.base,
                shards.join("+"),
                limits.job_items,
                limits.job_bytes,
                limits.enqueued_tokens
            )
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    a https://api.anthropic.com/ south items 100000 bytes 256000000 enqueued None price 0.50
    g https://generativelanguage.googleapis.com/ north+south items 100000 bytes 2000000000 enqueued Some(3000000) price 0.50
    o https://api.openai.com/v1 north+south items 50000 bytes 200000000 enqueued Some(2000000) price 0.50
    s http://localhost:8000/v1 north+south items 10000 bytes 200000000 enqueued None price 1.00
    ");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let text = r#"
        provider = [
            { name = "mock", kind = "openai", credential_env = "OPENAI_API_KEY" },
            { name = "a b", kind = "azure" },
            { name = "c", kind = "openai" },
            { name = "c", kind = "server" },
            { name = "d", kind = "gemini", credential_env = "GEMINI_API_KEY", credential_file = "/x", base_url = "https://host/v1beta" },
            { name = "e", kind = "server", base_url = "http://host:8000" },
            { name = "f", kind = "server", base_url = "http://user:sk-secret-0123456789@host/v1" },
            { name = "g", kind = "server", base_url = "http://host/v1", shards = { noth = 1, south = 0 } },
            { name = "h", kind = "server", base_url = "http://host/v1", shards = {} },
            { name = "i", kind = "server", base_url = "http://host/v1", price_factor = 0.5 },
            { name = "j", kind = "server", base_url = "http://host/v1", price_factor = "half" },
        ]
    "#;
    insta::assert_snapshot!(faults(text), @r#"
    provider `mock`: this name is taken: mock is always there
    provider `a b`: a name is 1 to 63 letters, digits, -, _ and .
    provider `a b`: kind `azure` is none of openai, anthropic, gemini, server
    provider `c`: credential_env or credential_file is missing
    provider `c`: this name stands in the file twice
    provider `c`: base_url is missing: say where the server is, as http://host:8000/v1
    provider `d`: credential_env and credential_file are both given; leave one out
    provider `d`: base_url is without a version here, as clients write it
    provider `e`: base_url ends in the version here, as clients write it: …/v1
    provider `f`: base_url is not http or https with a host, and no user or query
    provider `g`: there is no shard `noth`; did you mean north?
    provider `g`: shards.south 0 is not a whole number from 1 to 1000000
    provider `h`: shards names none; leave it out for all alike
    provider `i`: price_factor stands in quotes, such as "0.5", so that it is exact
    provider `j`: price_factor is not a number from 0 to 2 with at most nine decimals
    "#);
}

#[test]
fn every_wrong_limit_has_its_line() {
    let text = r#"
        [[provider]]
        name = "a"
        kind = "openai"
        credential_env = "OPENAI_API_KEY"
        [provider.limits]
        job_items = 50_001
        job_bytes = "1 GB"
        job_tokens = 0
        questions = 1
        grace_seconds = -1

        [[provider]]
        name = "b"
        kind = "openai"
        credential_env = "OPENAI_API_KEY"
        limits = { job_bytes = "much", enqueued_tokens = 1 }

        [[provider]]
        name = "c"
        kind = "openai"
        credential_env = "OPENAI_API_KEY"
        limits = { job_bytes = 1.5 }
    "#;
    insta::assert_snapshot!(faults(text), @r#"
    provider `a`: limits.job_items 50001 is not a whole number from 1 to 50000
    provider `a`: limits.job_tokens 0 is not a whole number from 1 to 1000000000000000
    provider `a`: limits.grace_seconds -1 is not a whole number from 1 to 86400
    provider `a`: limits.job_bytes 1000000000 is not a whole number from 1 to 200000000
    provider `a`: limits.questions leave nothing for shard `north`; raise them, or leave the shard out of shards
    provider `b`: limits.job_bytes is neither a number nor a size such as "200 MB"
    provider `b`: limits.enqueued_tokens leave nothing for shard `north`; raise them, or leave the shard out of shards
    provider `c`: limits.job_bytes is neither a number nor a size such as "200 MB"
    "#);
}

#[test]
fn a_missing_credential_is_told_by_where_it_should_be() {
    let text = r#"
        provider = [
            { name = "a", kind = "openai", credential_env = "NOWHERE" },
            { name = "b", kind = "openai", credential_env = "BLANK" },
            { name = "c", kind = "openai", credential_env = "SPACED" },
            { name = "d", kind = "openai", credential_file = "/nowhere/at/all" },
            { name = "e", kind = "openai", credential_file = "/dev/null" },
        ]
    "#;
    insta::assert_snapshot!(faults(text), @r"
    provider `a`: the credential is missing: the variable NOWHERE is not set
    provider `b`: the credential is missing: the variable BLANK is empty
    provider `c`: the credential is missing: the variable SPACED holds no credential, which is printable letters, digits and signs in one line
    provider `d`: the credential is missing: the file /nowhere/at/all cannot be read: No such file or directory (os error 2)
    provider `e`: the credential is missing: the file /dev/null is empty
    ");
    // Who asks no provider needs no credential.
    let unread = parse(text, &["north"], Credentials::Unread).unwrap();
    assert_eq!(unread.names().count(), 5);
}

#[test]
fn a_credential_in_the_wrong_place_is_not_repeated() {
    let text = r#"
        provider = [
            { name = "a", kind = "openai", credential_env = "sk-secret-0123456789" },
            { name = "b", kind = "openai", credential_file = "sk-secret-0123456789" },
            { name = "c", kind = "openai", credential_env = "OPENAI_API_KEY", price_factor = "sk-secret-0123456789" },
            { name = "d", kind = "openai", credential_env = "OPENAI_API_KEY", base_url = "sk-secret-0123456789" },
        ]
    "#;
    insta::assert_snapshot!(faults(text), @r"
    provider `a`: credential_env is not the name of a variable, such as OPENAI_API_KEY: A to Z, 0 to 9 and _; the credential itself never stands in this file
    provider `b`: credential_file is not a path from the root, such as /run/secrets/openai; the credential itself never stands in this file
    provider `c`: price_factor is not a number from 0 to 2 with at most nine decimals
    provider `d`: base_url is not http or https with a host, and no user or query
    ");
    for line in [
        "credential = \"sk-secret-0123456789\"",
        "credential_env = sk-secret-0123456789",
        "credential_env = \"sk-secret-0123456789",
        "shards = \"sk-secret-0123456789\"",
        "limits = { questions = \"sk-secret-0123456789\" }",
    ] {
        let text = format!("[[provider]]\nname = \"a\"\nkind = \"openai\"\n{line}\n");
        let told = faults(&text);
        assert!(told.starts_with("line "), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
    let text =
        "[[provider]]\nname = \"a\"\nkind = \"openai\"\napi_key = \"sk-secret-0123456789\"\n";
    insta::assert_snapshot!(faults(text), @"line 4: unknown field `api_key`, expected one of `name`, `kind`, `base_url`, `credential_env`, `credential_file`, `shards`, `price_factor`, `limits`");
}

#[test]
fn a_file_holds_a_credential_too() {
    let folder = std::env::temp_dir().join(format!("longshore-providers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("secret");
    std::fs::write(&path, format!("{SECRET}\n")).unwrap();
    let text = format!(
        "[[provider]]\nname = \"a\"\nkind = \"openai\"\ncredential_file = \"{}\"\n",
        path.display()
    );
    let file = folder.join("providers.toml");
    std::fs::write(&file, text).unwrap();
    let opened = Accounts::open(Some(&file), &["main"], Credentials::Read(&environment)).unwrap();
    let account = opened.find("a").unwrap();
    assert_eq!(account.credential, Some(Credential::new(SECRET)));
    std::fs::remove_dir_all(&folder).unwrap();
    let gone = Accounts::open(Some(&file), &["main"], Credentials::Unread).unwrap_err();
    assert!(gone.to_string().contains("providers.toml cannot be read"));
}

#[test]
fn an_account_without_labels_serves_one_shard() {
    let text = r#"
        provider = [
            { name = "both", kind = "anthropic", credential_env = "ANTHROPIC_API_KEY" },
            { name = "north", kind = "anthropic", credential_env = "ANTHROPIC_API_KEY", shards = { north = 1 } },
            { name = "south", kind = "anthropic", credential_env = "SAME_API_KEY", shards = { south = 1 } },
        ]
    "#;
    insta::assert_snapshot!(faults(text), @r"
    provider `both`: jobs of anthropic carry no label, so an account serves exactly one shard, and this one has north, south: make a workspace for each shard there and a [[provider]] for each workspace here, with shards = { north = 1 } and so on
    provider `south`: has the credential of `north`, and so its jobs; each shard needs a workspace of its own
    ");
    let alone = r#"[[provider]]
        name = "a"
        kind = "anthropic"
        credential_env = "ANTHROPIC_API_KEY""#;
    assert!(parse(alone, &["main"], Credentials::Read(&environment)).is_ok());
}

#[test]
fn nothing_that_is_made_of_an_account_shows_its_credential() {
    let text = r#"
        provider = [
            { name = "o", kind = "openai", credential_env = "OPENAI_API_KEY" },
            { name = "a", kind = "anthropic", credential_env = "ANTHROPIC_API_KEY", shards = { south = 1 } },
            { name = "g", kind = "gemini", credential_env = "GEMINI_API_KEY" },
            { name = "s", kind = "server", base_url = "http://localhost:8000/v1", credential_env = "OPENAI_API_KEY" },
        ]
    "#;
    let accounts = accounts(text);
    let mut told = format!("{accounts:?} {accounts:#?}");
    for account in accounts.iter() {
        assert_eq!(account.credential, Some(Credential::new(SECRET)));
        let adapter = account.adapter(Patience::default()).unwrap();
        let access = adapter.access(account.shares["south"]);
        let source = account.source.as_ref().unwrap();
        told = format!("{told} {adapter:?} {access:?} {source}");
        let is_jobs = matches!(access, Access::Jobs { .. });
        assert_eq!(is_jobs, account.kind != Kind::Server);
    }
    assert!(!told.contains("secret"), "{told}");
}

#[test]
fn shards_share_an_adapter_and_divide_the_limits() {
    let accounts = accounts(
        r#"
        [[provider]]
        name = "o"
        kind = "openai"
        credential_env = "OPENAI_API_KEY"
        limits = { enqueued_tokens = 1_000_001 }
    "#,
    );
    let account = accounts.find("o").unwrap();
    let adapter = account.adapter(Patience::default()).unwrap();
    let access = |shard| adapter.access(account.shares[shard]);
    let (
        Access::Jobs {
            jobs: north,
            realtime: Some(_),
            share: first,
        },
        Access::Jobs {
            jobs: south,
            share: second,
            ..
        },
    ) = (access("north"), access("south"))
    else {
        panic!("an account of OpenAI takes jobs and single questions");
    };
    assert!(Arc::ptr_eq(&north, &south));
    let all = first.most_enqueued_tokens + second.most_enqueued_tokens;
    assert_eq!(all, 1_000_001);
}

#[test]
fn the_file_that_we_hand_out_is_good() {
    let example = include_str!("../../../../providers.toml");
    assert_eq!(accounts(example).names().count(), 0);
    let (_, commented) = example.split_once("# [[provider]]").unwrap();
    let uncommented: String = commented
        .lines()
        .map(|line| line.trim_start_matches('#').to_owned() + "\n")
        .collect();
    let whole = accounts(&format!("[[provider]]\n{uncommented}"));
    let names: Vec<_> = whole.names().collect();
    assert_eq!(
        names,
        ["claude-north", "gemini-main", "openai-main", "our-vllm"]
    );
}
