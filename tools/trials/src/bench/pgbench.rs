//! Bare single-row inserts of an equal row: what the database does without us.

use std::fs;
use std::path::PathBuf;

use crate::failure::{During as _, Failure, Result};
use crate::postgres::Postgres;
use crate::scratch::Scratch;

const DATABASE: &str = "bare";
/// Ids rise within each client, as ours do: random ones would only slow it down.
const SCRIPT: &str = "\\set i :i + 1
\\set id :run * 1000000000000000 + :client_id * 1000000000000 + :i
insert into bare values (lpad(to_hex(:id::bigint), 32, '0')::uuid,
    '01890a5d-ac96-774b-8000-000000000001', '01890a5d-ac96-774b-8000-000000000002',
    '01890a5d-ac96-774b-8000-000000000003', 'svc-mock', now(), :body);
";

/// The row that is inserted.
#[derive(Debug)]
pub struct Bare {
    script: PathBuf,
    log: PathBuf,
    run: u32,
}

impl Bare {
    pub async fn create(postgres: &Postgres, scratch: &Scratch) -> Result<Self> {
        postgres.create_database(DATABASE).await?;
        let mut connection = postgres.connect(DATABASE).await?;
        let table = "create table bare (id uuid primary key, organization uuid not null,
            project uuid not null, api_key uuid not null, model text not null,
            created_at timestamptz not null, body bytea not null)";
        sqlx::raw_sql(table)
            .execute(&mut connection)
            .await
            .during("creating the bare table")?;
        let script = scratch.join("bare.sql");
        fs::write(&script, SCRIPT).during("writing the script")?;
        Ok(Self {
            script,
            log: scratch.join("pgbench"),
            run: 0,
        })
    }

    /// Inserts per second with so many clients; `size` is that of the body.
    pub async fn run(
        &mut self,
        postgres: &Postgres,
        clients: u32,
        seconds: u64,
        size: usize,
    ) -> Result<f64> {
        self.run += 1;
        let digits = (0..size * 2).map(|_| char::from_digit(rand::random_range(0..16), 16));
        let body: String = digits.flatten().collect();
        let pgbench = postgres.tool("pgbench").arguments([
            "-h".to_owned(),
            "127.0.0.1".to_owned(),
            "-p".to_owned(),
            postgres.port().to_string(),
            "-U".to_owned(),
            "postgres".to_owned(),
            "-n".to_owned(),
            "-M".to_owned(),
            "prepared".to_owned(),
            "-j".to_owned(),
            "2".to_owned(),
            "-c".to_owned(),
            clients.to_string(),
            "-T".to_owned(),
            seconds.to_string(),
            "-D".to_owned(),
            "i=0".to_owned(),
            "-D".to_owned(),
            format!("run={}", self.run),
            "-D".to_owned(),
            format!("body=\\x{body}"),
            "-f".to_owned(),
            self.script.display().to_string(),
            DATABASE.to_owned(),
        ]);
        let output = pgbench.run(&self.log).await?;
        rate(&output).ok_or_else(|| Failure::new(format!("no rate in: {output}")))
    }
}

/// `tps = 12345.678901 (without initial connection time)`
fn rate(output: &str) -> Option<f64> {
    let line = output
        .lines()
        .find_map(|line| line.strip_prefix("tps = "))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_from_the_report() {
        let output =
            "latency average = 1.2 ms\ntps = 16866.250000 (without initial connection time)\n";
        assert_eq!(rate(output), Some(16_866.25));
        assert_eq!(rate("pgbench: error"), None);
    }
}
