//! The settings: defaults, errors, and secrets that stay hidden.

mod packaged_env;

use std::time::Duration;

use domain::plan_limits::LimitsByPlan;

use super::*;
use crate::settings::choice::{Deployment, Environment, LogFormat};

const DATABASE: (&str, &str) = (
    "SVC_DATABASE_URL",
    "postgres://dock:secret@localhost/longshore",
);

fn reading(given: &[(&str, &str)]) -> ParsedSettings {
    read_variables(
        given
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value))),
    )
}

fn failure_text(given: &[(&str, &str)]) -> String {
    reading(given).settings().unwrap_err().to_string()
}

#[test]
fn the_defaults_are_good_values() {
    let Settings {
        databases, values, ..
    } = reading(&[DATABASE]).settings().unwrap();
    assert_eq!(values.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(values.environment, Environment::Production);
    assert_eq!(values.deployment, Deployment::SelfHosted);
    assert_eq!(values.log_format, LogFormat::Json);
    assert_eq!(
        values.callback_retry_delays,
        domain::retry_schedule::RetrySchedule::default()
    );
    assert_eq!(values.drain, Duration::from_secs(35));
    assert_eq!(values.drain_grace, Duration::from_secs(1));
    assert_eq!(values.callback_allow, []);
    assert_eq!(values.licence_public_key, None);
    assert_eq!(
        crate::licence::plan_limits(&values),
        LimitsByPlan::default()
    );
    assert_eq!(databases.control.reveal(), DATABASE.1);
    let shards: Vec<_> = databases.shards.iter().map(|shard| &*shard.name).collect();
    assert_eq!(shards, ["main"]);
}

#[test]
fn the_table_names_each_setting_once_with_help() {
    for (index, declared) in TABLE.iter().enumerate() {
        assert!(
            declared.name.starts_with(SETTING_PREFIX),
            "{}",
            declared.name
        );
        assert!(declared.help.ends_with('.'), "{}", declared.name);
        let twice = TABLE
            .iter()
            .skip(index + 1)
            .any(|other| other.name == declared.name);
        assert!(!twice, "{}", declared.name);
    }
}

#[test]
fn all_errors_are_reported_together() {
    let given = [
        DATABASE,
        ("SVC_LISTN", "127.0.0.1:1"),
        ("SVC_QUITE_UNHEARD_OF", "1"),
        ("SVC_LISTEN", "localhost"),
        ("SVC_DRAIN_SECONDS", "soon"),
        ("SVC_DATABASE_CONNECTIONS", "0"),
        ("SVC_ENVIRONMENT", "staging"),
        ("SVC_CALLBACK_RETRY_DELAYS", "1,,2"),
        ("SVC_CALLBACK_ALLOW_CIDRS", "10.0.0.0/99"),
        ("SVC_LOG", "info,=["),
        ("SVC_UPGRADE_URL", "plans"),
        ("SVC_LICENCE_PUBLIC_KEY", "AAAA"),
        ("SVC_MONTHLY_TOKENS_PRO", "-1"),
        ("SVC_REDIS_URL", "http://:hunter2@redis"),
        (
            "SVC_SHARD_DATABASE_URLS",
            "a=postgres://x:hunter2@h/d,a=postgres://y:hunter2@h/d",
        ),
    ];
    let message = failure_text(&given);
    assert!(!message.contains("hunter2") && !message.contains("secret"));
    insta::assert_snapshot!(message, @r"
    the settings are invalid; `longshored config` explains each one
      SVC_LISTN: unknown setting; did you mean SVC_LISTEN?
      SVC_QUITE_UNHEARD_OF: unknown setting
      SVC_SHARD_DATABASE_URLS: the value is not a list of name=address separated by commas, each name once and made of a-z, 0-9, - and _, such as north=postgres://user:password@host/database,south=postgres://…
      SVC_DATABASE_CONNECTIONS: `0` is not a whole number from 4 to 1000
      SVC_REDIS_URL: the value is not an address such as redis://host:6379 or rediss://host:6379
      SVC_LISTEN: `localhost` is not an IP address and a port, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::]:8080
      SVC_ENVIRONMENT: `staging` is not production or development
      SVC_LICENCE_PUBLIC_KEY: `AAAA` is not the base64 of an Ed25519 public key: 32 bytes, or the line between BEGIN and END PUBLIC KEY
      SVC_MONTHLY_TOKENS_PRO: `-1` is not a whole number from 0 to 1000000000000000, or unlimited
      SVC_UPGRADE_URL: `plans` is not an http or https URL
      SVC_CALLBACK_RETRY_DELAYS: `1,,2` is not whole seconds separated by commas, such as 30,120,600,1800,3600
      SVC_CALLBACK_ALLOW_CIDRS: `10.0.0.0/99` is not a list of address ranges separated by commas, such as 10.0.0.0/8,fd00::/8
      SVC_DRAIN_SECONDS: `soon` is not a whole number of seconds from 1 to 3600
      SVC_LOG: `info,=[` is not a log filter, such as info, warn or info,workers=debug
    ");
}

#[test]
fn a_missing_database_is_reported_together_with_other_errors() {
    let faults = reading(&[("SVC_LEASE_SECONDS", "1")]).faults;
    let names: Vec<_> = faults.iter().map(|fault| fault.name.as_str()).collect();
    assert_eq!(names, ["SVC_LEASE_SECONDS", "SVC_DATABASE_URL"]);
    let faults = reading(&[("SVC_DATABASE_URL", "mysql://h/d")]).faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
}

#[test]
fn what_needs_no_database_can_do_without_its_address() {
    let tokens = ("SVC_MONTHLY_TOKENS_FREE", "unlimited");
    let read = reading(&[tokens]);
    assert_eq!(read.values().unwrap().monthly_tokens_free, None);
    let faulty = reading(&[tokens, ("SVC_LEASE_SECONDS", "1")]);
    insta::assert_snapshot!(faulty.values().unwrap_err(), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_LEASE_SECONDS: `1` is not a whole number of seconds from 3 to 3600
    ");
}

#[test]
fn a_missing_database_is_asked_for() {
    insta::assert_snapshot!(failure_text(&[]), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_DATABASE_URL: is not set; set it to a PostgreSQL address, such as postgres://user:password@localhost:5432/longshore
    ");
    let control = ("SVC_CONTROL_DATABASE_URL", "postgres://localhost/control");
    insta::assert_snapshot!(failure_text(&[control]), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_SHARD_DATABASE_URLS: is not set, and neither is SVC_DATABASE_URL; list each shard with its PostgreSQL address, such as north=postgres://…,south=postgres://…
    ");
    let shards = ("SVC_SHARD_DATABASE_URLS", "a=postgres://localhost/a");
    insta::assert_snapshot!(failure_text(&[shards]), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_CONTROL_DATABASE_URL: is not set, and neither is SVC_DATABASE_URL; set one of them to a PostgreSQL address
    ");
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let given = [
        DATABASE,
        ("SVC_DRAIN_SECONDS", "1"),
        ("SVC_DRAIN_GRACE_MILLISECONDS", "1000"),
        ("SVC_DELIVERY_SLOTS", "10"),
        ("SVC_DELIVERY_SLOTS_PER_HOST", "11"),
    ];
    insta::assert_snapshot!(failure_text(&given), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_DRAIN_GRACE_MILLISECONDS: must be less than SVC_DRAIN_SECONDS
      SVC_DELIVERY_SLOTS_PER_HOST: must not be more than SVC_DELIVERY_SLOTS
    ");
}

#[test]
fn a_store_comes_with_all_that_it_needs() {
    let given = [
        DATABASE,
        ("SVC_OBJECTS_URL", "http://storage.internal:8333"),
        ("SVC_OBJECTS_BUCKET", "longshore"),
        ("SVC_OBJECTS_ACCESS_KEY", "hunter2"),
        ("SVC_OBJECTS_SECRET_KEY", "hunter2=very/secret"),
        ("SVC_SCANNER", "tcp://clamd:3310"),
    ];
    let complete = reading(&given);
    let rows = complete.rows.iter().map(|row| row.display_value.clone());
    assert!(!rows.collect::<String>().contains("hunter2"));
    let settings = complete.settings().unwrap();
    assert!(!format!("{settings:?}").contains("hunter2"));

    insta::assert_snapshot!(failure_text(&given[..2]), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_OBJECTS_BUCKET: is not set, but SVC_OBJECTS_URL is; the object store needs a bucket and both keys
      SVC_OBJECTS_ACCESS_KEY: is not set, but SVC_OBJECTS_URL is; the object store needs a bucket and both keys
      SVC_OBJECTS_SECRET_KEY: is not set, but SVC_OBJECTS_URL is; the object store needs a bucket and both keys
      SVC_SCANNER: is not set, but SVC_OBJECTS_URL is; every file must be scanned
    ");
    insta::assert_snapshot!(failure_text(&[DATABASE, ("SVC_OBJECTS_BUCKET", "longshore")]), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_OBJECTS_URL: is not set, but another SVC_OBJECTS_… is; set it to the URL of the object store, such as http://storage.internal:8333
    ");
    insta::assert_snapshot!(failure_text(&[DATABASE, ("SVC_OBJECTS_SECRET_KEY", "hunter 2")]), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_OBJECTS_SECRET_KEY: the value is not a key of printable characters without spaces
    ");
}

#[test]
fn a_store_with_a_role_needs_no_keys() {
    let given = [
        DATABASE,
        ("SVC_OBJECTS_URL", "https://s3.eu-west-1.amazonaws.com"),
        ("SVC_OBJECTS_BUCKET", "longshore"),
        ("SVC_OBJECTS_CREDENTIALS", "environment"),
        ("SVC_SCANNER", "tcp://clamd:3310"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/longshore"),
    ];
    assert!(reading(&given).settings().is_ok());
    let key = ("SVC_OBJECTS_ACCESS_KEY", "hunter2");
    insta::assert_snapshot!(failure_text(&[&given[..6], &[key][..]].concat()), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_OBJECTS_ACCESS_KEY: is set, but SVC_OBJECTS_CREDENTIALS is environment; unset one of them
      AWS_ROLE_ARN: is not set, but AWS_WEB_IDENTITY_TOKEN_FILE is; set it to the role of this process
    ");
}

#[test]
fn shards_and_control_may_live_apart() {
    let given = [
        DATABASE,
        (
            "SVC_CONTROL_DATABASE_URL",
            "postgresql:///control?host=/run/postgresql",
        ),
        (
            "SVC_SHARD_DATABASE_URLS",
            "north=postgres://n/x?a=b, south=postgres://s/x",
        ),
        ("SVC_ENVIRONMENT", "development"),
    ];
    let databases = reading(&given).settings().unwrap().databases;
    let shards: Vec<_> = databases
        .shards
        .iter()
        .map(|shard| (&*shard.name, shard.url.reveal()))
        .collect();
    assert_eq!(
        shards,
        [("north", "postgres://n/x?a=b"), ("south", "postgres://s/x")]
    );
    assert!(databases.control.reveal().contains("control"));
}

#[test]
fn an_address_may_list_several_hosts() {
    let given = [
        (
            "SVC_CONTROL_DATABASE_URL",
            "postgres://u@one:5001,two:5002/control",
        ),
        (
            "SVC_SHARD_DATABASE_URLS",
            "north=postgres://u@one:5001,two:5002/north,south=postgres://u@three/south",
        ),
        ("SVC_ENVIRONMENT", "development"),
    ];
    let databases = reading(&given).settings().unwrap().databases;
    let control = databases.control.reveal();
    assert_eq!(control, "postgres://u@one:5001,two:5002/control");
    let shards = databases.shards.iter();
    let shards: Vec<_> = shards.map(|it| (&*it.name, it.url.reveal())).collect();
    assert_eq!(
        shards,
        [
            ("north", "postgres://u@one:5001,two:5002/north"),
            ("south", "postgres://u@three/south"),
        ]
    );
    assert_eq!(databases.control.server(), ("one".to_owned(), 5001));
}

#[test]
fn an_empty_value_is_no_value() {
    let given = [
        DATABASE,
        ("SVC_LISTEN", ""),
        ("SVC_MODELS_FILE", " "),
        ("SVC_LEASE_SECONDS", " 4 "),
    ];
    let values = reading(&given).settings().unwrap().values;
    assert_eq!(values.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(values.models_file, None);
    assert_eq!(values.lease, Duration::from_secs(4));
}

#[test]
fn passwords_are_never_shown() {
    let table = [
        ("", ""),
        ("postgres://host/db", "postgres://host/db"),
        (
            "postgres://u:p%40ss@host:5/db",
            "postgres://u:****@host:5/db",
        ),
        (
            "postgres://u@host/db?password=pass&sslmode=require",
            "postgres://u@host/db?password=****&sslmode=require",
        ),
        ("redis://:pass@host", "redis://:****@host"),
        (
            "a=postgres://u:pass@h/d,b=postgres://u:pass@h/d",
            "a=postgres://u:****@h/d,b=postgres://u:****@h/d",
        ),
        ("user=u password=pass host=h", "user=****"),
        ("a=u:pass@h", "a=****"),
        ("pass", "****"),
        ("postgres://u:pa,ss@host/db", "postgres://u:****@host/db"),
        (
            "postgres://u:pass@one:1,two/db?sslmode=require",
            "postgres://u:****@one:1,two/db?sslmode=require",
        ),
        (
            "a=postgres://u:pass@one,two:2/d, b=mysql://u:pass@h/d",
            "a=postgres://u:****@one,two:2/d,b=mysql://u:****@h/d",
        ),
        ("a=postgres://u:pass@h/d,u:pass@h", "a=****"),
    ];
    for (text, shown) in table {
        assert_eq!(address::mask(text), shown);
    }
    let settings = reading(&[DATABASE]).settings().unwrap();
    assert!(!format!("{settings:?}").contains("dock:secret"));
}

#[test]
fn a_signing_root_has_32_bytes_and_is_never_shown() {
    let root = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let read = reading(&[DATABASE, ("SVC_SIGNING_ROOT", root)]);
    let row = read
        .rows
        .iter()
        .find(|row| row.declaration.name == "SVC_SIGNING_ROOT");
    assert_eq!(row.unwrap().display_value, address::MASK);
    let values = read.settings().unwrap().values;
    assert!(crate::callback_signing::roots(&values).is_some());
    insta::assert_snapshot!(failure_text(&[DATABASE, ("SVC_SIGNING_ROOT", "AAEC")]), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_SIGNING_ROOT: the value is not 32 bytes in base64, such as `openssl rand -base64 32` prints
    ");
    insta::assert_snapshot!(failure_text(&[DATABASE, ("SVC_SIGNING_ROOT_PREVIOUS", root)]), @r"
    the settings are invalid; `longshored config` explains each one
      SVC_SIGNING_ROOT: is not set, but SVC_SIGNING_ROOT_PREVIOUS is; set it to the new root
    ");
}

#[test]
fn master_keys_are_in_one_place() {
    let (file, command, id) = (
        ("SVC_MASTER_KEY_FILE", "/etc/keys"),
        ("SVC_MASTER_KEY_COMMAND", "/usr/bin/kms --region eu"),
        ("SVC_MASTER_KEY_ID", "alias/longshore"),
    );
    for valid in [&[DATABASE, file][..], &[DATABASE, command, id]] {
        assert!(reading(valid).settings().is_ok());
    }
    let faults = |given: &[(&str, &str)]| {
        let faults = reading(given).faults;
        let lines = faults.iter().map(|it| format!("{}: {}", it.name, it.text));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(faults(&[DATABASE, file, command, id]), @"SVC_MASTER_KEY_COMMAND: is set, and so is SVC_MASTER_KEY_FILE; unset one of them");
    insta::assert_snapshot!(faults(&[DATABASE, command]), @"SVC_MASTER_KEY_ID: is not set, but SVC_MASTER_KEY_COMMAND is; set it to the id of the key that wraps new data keys");
    insta::assert_snapshot!(faults(&[DATABASE, id]), @"SVC_MASTER_KEY_COMMAND: is not set, but SVC_MASTER_KEY_ID is; in SVC_MASTER_KEY_FILE the first key is the current one");
    insta::assert_snapshot!(faults(&[DATABASE, ("SVC_MASTER_KEY_COMMAND", "kms"), ("SVC_MASTER_KEY_ID", "-x")]), @r"
    SVC_MASTER_KEY_COMMAND: `kms` is not an absolute path, with arguments separated by spaces
    SVC_MASTER_KEY_ID: `-x` is not a word of at most 200 visible characters that does not begin with - or #
    ");
}
