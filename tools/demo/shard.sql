-- Thirty days of cargo on one shard. Variables: those of who.sql, shard (its name) and cargo (how many, on all shards).
\set QUIET on
set synchronous_commit = off;
set work_mem = '192MB';
set maintenance_work_mem = '256MB';
set client_min_messages = warning;
set jit = off;
begin;
\ir who.sql
delete from project where shard <> :'shard';
\ir cargo.sql
\ir batches.sql
\ir outcomes.sql
\ir texts.sql
\ir callbacks.sql
\ir books.sql
\ir counts.sql
commit;
analyze;
