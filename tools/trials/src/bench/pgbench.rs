//! Bare single-row inserts by pgbench: what PostgreSQL does without the service.

use std::fs;
use std::path::PathBuf;

use crate::harness::failure::{FailureContext as _, Result, TrialFailure};
use crate::harness::servers::postgres::TrialPostgresServer;
use crate::harness::servers::scratch_folder::ScratchFolder;

const DATABASE: &str = "bare";
/// Ids increase within each client, as the service's do: random ids would only slow it down.
const SCRIPT: &str = "\\set i :i + 1
\\set id :run * 1000000000000000 + :client_id * 1000000000000 + :i
insert into bare values (lpad(to_hex(:id::bigint), 32, '0')::uuid,
    '01890a5d-ac96-774b-8000-000000000001', '01890a5d-ac96-774b-8000-000000000002',
    '01890a5d-ac96-774b-8000-000000000003', 'svc-mock', now(), :body);
";

/// A table with rows as large as the service's.
#[derive(Debug)]
pub struct PgbenchInserts {
    script: PathBuf,
    log: PathBuf,
    run_number: u32,
}

impl PgbenchInserts {
    pub async fn create(postgres: &TrialPostgresServer, scratch: &ScratchFolder) -> Result<Self> {
        postgres.create_database(DATABASE).await?;
        let mut connection = postgres.connect(DATABASE).await?;
        let table = "create table bare (id uuid primary key, organization uuid not null,
            project uuid not null, api_key uuid not null, model text not null,
            created_at timestamptz not null, body bytea not null)";
        sqlx::raw_sql(table)
            .execute(&mut connection)
            .await
            .context("creating the table for bare inserts")?;
        let script = scratch.join("bare.sql");
        fs::write(&script, SCRIPT).context("writing the pgbench script")?;
        Ok(Self {
            script,
            log: scratch.join("pgbench"),
            run_number: 0,
        })
    }

    /// Inserts per second with this many clients; `size` is the size of the body.
    pub async fn run(
        &mut self,
        postgres: &TrialPostgresServer,
        clients: u32,
        seconds: u64,
        size: usize,
    ) -> Result<f64> {
        self.run_number += 1;
        let digits = (0..size * 2).map(|_| char::from_digit(rand::random_range(0..16), 16));
        let body: String = digits.flatten().collect();
        let pgbench = postgres.installed_program("pgbench").with_arguments([
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
            format!("run={}", self.run_number),
            "-D".to_owned(),
            format!("body=\\x{body}"),
            "-f".to_owned(),
            self.script.display().to_string(),
            DATABASE.to_owned(),
        ]);
        let output = pgbench.run(&self.log).await?;
        parse_rate(&output).ok_or_else(|| TrialFailure::new(format!("no rate in: {output}")))
    }
}

/// `tps = 12345.678901 (without initial connection time)`
fn parse_rate(output: &str) -> Option<f64> {
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
        assert_eq!(parse_rate(output), Some(16_866.25));
        assert_eq!(parse_rate("pgbench: error"), None);
    }
}
