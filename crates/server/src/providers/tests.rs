//! The accounts: what the file accepts, the errors it reports, and that no credential is ever
//! shown.

use std::ffi::OsString;
use std::sync::Arc;

use chrono::TimeDelta;
use outbound::provider::client::ProviderTimeouts;
use workers::ProviderAccess;

use super::*;

const SECRET: &str = "sk-secret-0123456789";

/// The environment of these tests.
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

fn parsed(text: &str) -> Result<ProviderAccounts, String> {
    parse(
        text,
        &["north", "south"],
        CredentialAccess::Read(&environment),
    )
}

/// On the shards north and south.
pub(crate) fn accounts(text: &str) -> ProviderAccounts {
    parsed(text).unwrap()
}

/// The same, without credentials.
pub(crate) fn unread(text: &str) -> ProviderAccounts {
    parse(text, &["north", "south"], CredentialAccess::Skip).unwrap()
}

/// On other shards, without credentials.
pub(crate) fn unread_on(text: &str, shards: &[&str]) -> ProviderAccounts {
    parse(text, shards, CredentialAccess::Skip).unwrap()
}

fn faults(text: &str) -> String {
    let faults = parsed(text).unwrap_err();
    assert!(!faults.contains(SECRET), "{faults}");
    faults
}

#[test]
fn without_a_file_there_are_no_accounts() {
    let none = ProviderAccounts::open(None, &["north"], CredentialAccess::Skip).unwrap();
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
        provider_options = ["verbosity"]
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
    assert_eq!(account.base_url.as_str(), "https://openai.example/v1");
    let source = CredentialSource::Variable("OPENAI_API_KEY".to_owned());
    assert_eq!(account.source, Some(source));
    assert_eq!(account.credential, Some(ProviderCredential::new(SECRET)));
    assert_eq!(account.price_factor, Money(400_000_000));
    assert_eq!(account.provider_options, ["verbosity"]);
    let share = |tokens, questions| AccountShare {
        max_items: 10_000,
        max_bytes: 100_000_000,
        max_tokens: 500_000,
        max_enqueued_tokens: tokens,
        max_concurrent_requests: questions,
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
            { name = "z", kind = "azure", base_url = "https://r.openai.azure.com/openai/v1", credential_env = "OPENAI_API_KEY" },
            { name = "q", kind = "groq", credential_env = "OPENAI_API_KEY" },
        ]
    "#,
    );
    let summaries: Vec<String> = accounts
        .iter()
        .map(|it| {
            let shards: Vec<_> = it.shares.keys().map(String::as_str).collect();
            let (limits, factor) = (it.limits, it.price_factor);
            format!(
                "{} {} {} items {} bytes {} enqueued {:?} price {factor}",
                it.name,
                it.base_url,
                shards.join("+"),
                limits.job_items,
                limits.job_bytes,
                limits.enqueued_tokens
            )
        })
        .collect();
    insta::assert_snapshot!(summaries.join("\n"), @r"
    a https://api.anthropic.com/ south items 100000 bytes 256000000 enqueued None price 0.50
    g https://generativelanguage.googleapis.com/ north+south items 100000 bytes 2000000000 enqueued Some(3000000) price 0.50
    o https://api.openai.com/v1 north+south items 50000 bytes 200000000 enqueued Some(2000000) price 0.50
    q https://api.groq.com/openai/v1 north+south items 50000 bytes 200000000 enqueued None price 0.50
    s http://localhost:8000/v1 north+south items 10000 bytes 200000000 enqueued None price 1.00
    z https://r.openai.azure.com/openai/v1 north+south items 100000 bytes 200000000 enqueued Some(2000000) price 0.50
    ");
}

#[test]
fn all_errors_are_reported_together() {
    let text = r#"
        provider = [
            { name = "mock", kind = "openai", credential_env = "OPENAI_API_KEY" },
            { name = "a b", kind = "bedrock" },
            { name = "c", kind = "openai" },
            { name = "c", kind = "server" },
            { name = "d", kind = "gemini", credential_env = "GEMINI_API_KEY", credential_file = "/x", base_url = "https://host/v1beta" },
            { name = "e", kind = "server", base_url = "http://host:8000" },
            { name = "f", kind = "server", base_url = "http://user:sk-secret-0123456789@host/v1" },
            { name = "g", kind = "server", base_url = "http://host/v1", shards = { noth = 1, south = 0 } },
            { name = "h", kind = "server", base_url = "http://host/v1", shards = {} },
            { name = "i", kind = "server", base_url = "http://host/v1", price_factor = 0.5 },
            { name = "j", kind = "server", base_url = "http://host/v1", price_factor = "half" },
            { name = "k", kind = "azure", credential_env = "OPENAI_API_KEY" },
            { name = "l", kind = "server", base_url = "http://host/v1", provider_options = ["min_p", "min_p", "a b"] },
        ]
    "#;
    insta::assert_snapshot!(faults(text), @r#"
    provider `mock`: this name is reserved for the built-in mock provider
    provider `a b`: a name must be 1 to 63 letters, digits, -, _ and .
    provider `a b`: kind `bedrock` is not one of openai, anthropic, gemini, server, azure, groq
    provider `c`: credential_env or credential_file is missing
    provider `c`: this name is in the file twice
    provider `c`: base_url is missing: set it to the URL of the server, such as http://host:8000/v1
    provider `d`: credential_env and credential_file are both given; remove one
    provider `d`: base_url must not contain the API version for this kind
    provider `e`: base_url must end with the API version for this kind: …/v1
    provider `f`: base_url is not an http or https URL without user and query
    provider `g`: unknown shard `noth`; did you mean north?
    provider `g`: shards.south 0 is not a whole number from 1 to 1000000
    provider `h`: shards is empty; remove it to give all shards the same weight
    provider `i`: price_factor must be in quotes, such as "0.5", so that it is exact
    provider `j`: price_factor is not a number from 0 to 2 with at most nine decimals
    provider `k`: base_url is missing: set it to the URL of your resource, such as https://RESOURCE.openai.azure.com/openai/v1
    provider `l`: provider_options has `min_p` twice
    provider `l`: provider_options must be names of fields, such as ["verbosity"]
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
    provider `a`: limits.questions is too small: shard `north` would get 0; raise it, or remove the shard from shards
    provider `b`: limits.job_bytes is not a number or a size such as "200 MB"
    provider `b`: limits.enqueued_tokens is too small: shard `north` would get 0; raise it, or remove the shard from shards
    provider `c`: limits.job_bytes is not a number or a size such as "200 MB"
    "#);
}

#[test]
fn a_missing_credential_is_reported_by_its_source() {
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
    provider `a`: the credential cannot be read: the variable NOWHERE is not set
    provider `b`: the credential cannot be read: the variable BLANK is empty
    provider `c`: the credential cannot be read: the variable SPACED is not a credential: one line of printable ASCII characters without spaces
    provider `d`: the credential cannot be read: the file /nowhere/at/all cannot be read: No such file or directory (os error 2)
    provider `e`: the credential cannot be read: the file /dev/null is empty
    ");
    // A process that calls no provider needs no credentials.
    let unread = parse(text, &["north"], CredentialAccess::Skip).unwrap();
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
    provider `a`: credential_env is not the name of an environment variable, such as OPENAI_API_KEY (A-Z, 0-9 and _); never put the credential itself here
    provider `b`: credential_file is not an absolute path, such as /run/secrets/openai; never put the credential itself here
    provider `c`: price_factor is not a number from 0 to 2 with at most nine decimals
    provider `d`: base_url is not an http or https URL without user and query
    ");
    for line in [
        "credential = \"sk-secret-0123456789\"",
        "credential_env = sk-secret-0123456789",
        "credential_env = \"sk-secret-0123456789",
        "shards = \"sk-secret-0123456789\"",
        "limits = { questions = \"sk-secret-0123456789\" }",
    ] {
        let text = format!("[[provider]]\nname = \"a\"\nkind = \"openai\"\n{line}\n");
        let message = faults(&text);
        assert!(message.starts_with("line "), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
    let text =
        "[[provider]]\nname = \"a\"\nkind = \"openai\"\napi_key = \"sk-secret-0123456789\"\n";
    insta::assert_snapshot!(faults(text), @"line 4: unknown field `api_key`, expected one of `name`, `kind`, `base_url`, `credential_env`, `credential_file`, `shards`, `price_factor`, `provider_options`, `limits`");
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
    let opened =
        ProviderAccounts::open(Some(&file), &["main"], CredentialAccess::Read(&environment))
            .unwrap();
    let account = opened.find("a").unwrap();
    assert_eq!(account.credential, Some(ProviderCredential::new(SECRET)));
    std::fs::remove_dir_all(&folder).unwrap();
    let gone = ProviderAccounts::open(Some(&file), &["main"], CredentialAccess::Skip).unwrap_err();
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
    provider `both`: anthropic jobs carry no labels, so an account can serve only one shard, but this one serves north, south: create a workspace per shard at the provider and a [[provider]] per workspace here, with shards = { north = 1 } and so on
    provider `south`: has the same credential as `north` and would see its jobs; each shard needs a separate workspace
    ");
    let alone = r#"[[provider]]
        name = "a"
        kind = "anthropic"
        credential_env = "ANTHROPIC_API_KEY""#;
    assert!(parse(alone, &["main"], CredentialAccess::Read(&environment)).is_ok());
}

#[test]
fn nothing_that_is_made_of_an_account_shows_its_credential() {
    let text = r#"
        provider = [
            { name = "o", kind = "openai", credential_env = "OPENAI_API_KEY" },
            { name = "a", kind = "anthropic", credential_env = "ANTHROPIC_API_KEY", shards = { south = 1 } },
            { name = "g", kind = "gemini", credential_env = "GEMINI_API_KEY" },
            { name = "s", kind = "server", base_url = "http://localhost:8000/v1", credential_env = "OPENAI_API_KEY" },
            { name = "z", kind = "azure", base_url = "http://localhost:8000/openai/v1", credential_env = "OPENAI_API_KEY" },
        ]
    "#;
    let accounts = accounts(text);
    let mut printed = format!("{accounts:?} {accounts:#?}");
    for account in accounts.iter() {
        assert_eq!(account.credential, Some(ProviderCredential::new(SECRET)));
        let adapter = account.adapter(ProviderTimeouts::default()).unwrap();
        let access = adapter.access(account.shares["south"]);
        let source = account.source.as_ref().unwrap();
        printed = format!("{printed} {adapter:?} {access:?} {source}");
        let is_jobs = matches!(access, ProviderAccess::Batch { .. });
        assert_eq!(is_jobs, account.kind != ProviderKind::Server);
    }
    assert!(!printed.contains("secret"), "{printed}");
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
    let adapter = account.adapter(ProviderTimeouts::default()).unwrap();
    let access = |shard| adapter.access(account.shares[shard]);
    let (
        ProviderAccess::Batch {
            batch: north,
            realtime: Some(_),
            share: first,
        },
        ProviderAccess::Batch {
            batch: south,
            share: second,
            ..
        },
    ) = (access("north"), access("south"))
    else {
        panic!("an OpenAI account supports batch jobs and realtime requests");
    };
    assert!(Arc::ptr_eq(&north, &south));
    let all = first.max_enqueued_tokens + second.max_enqueued_tokens;
    assert_eq!(all, 1_000_001);
}

#[test]
fn the_example_file_is_valid() {
    let example = include_str!("../../../../providers.toml");
    assert_eq!(accounts(example).names().count(), 0);
    let (_, commented) = example.split_once("# [[provider]]").unwrap();
    let uncommented: String = commented
        .lines()
        .map(|line| line.trim_start_matches('#').to_owned() + "\n")
        .collect();
    let all = accounts(&format!("[[provider]]\n{uncommented}"));
    let names: Vec<_> = all.names().collect();
    assert_eq!(
        names,
        ["claude-north", "gemini-main", "openai-main", "our-vllm"]
    );
}
