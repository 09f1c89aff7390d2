-- Thirty days of cargo on one shard. Variables: those of tenants.sql, shard (its name) and cargo (how many, on all shards).
\set QUIET on
set synchronous_commit = off;
set work_mem = '192MB';
set maintenance_work_mem = '256MB';
set client_min_messages = warning;
set jit = off;
begin;
\ir tenants.sql
delete from project where shard <> :'shard';
\ir cargo.sql
\ir batches.sql
\ir outcomes.sql
\ir requests.sql
\ir callbacks.sql
\ir ledger.sql
\ir counts.sql
\ir groups.sql
commit;
analyze;
