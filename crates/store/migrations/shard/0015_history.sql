-- Retention of everything that grows with history: postings, counts, ended files, frozen days.
-- Additive: servers of the version before delete none of it.

set local lock_timeout = '5s';

-- What stands for the oldest postings and closing balances of an organization once they have left.
-- The audit begins here: the first posting that is left has the next number.
create table shard.opening (
    organization uuid primary key,
    -- Of the last posting that left. 0: none left.
    number bigint not null check (number >= 0),
    -- Of the organization's credit, after that posting.
    balance bigint not null check (balance >= 0),
    -- What the settlements that left took from the credit.
    settled bigint not null default 0,
    -- The charges of the closing balances that left, and the last of their days.
    charged bigint not null default 0,
    closed_day date
);

-- The ledger stays append-only. A row may leave only after an opening balance stands for it.
create or replace function shard.refuse_change() returns trigger
language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        return null;
    end if;
    raise exception 'the ledger is append-only';
end
$$;
create function shard.require_opening() returns trigger
language plpgsql as $$
begin
    if not exists (select from shard.opening o
            where o.organization = old.organization and o.number >= old.number) then
        raise exception 'the ledger is append-only: no opening balance stands for posting %', old.number;
    end if;
    return old;
end
$$;
create trigger posting_covered before delete on shard.posting
    for each row execute function shard.require_opening();

-- When it expired or failed. Null in rows that a server of the version before ended.
alter table shard.file add column ended_at timestamptz;

-- Days whose partitions are frozen: no vacuum has to read them again.
create table shard.frozen_day (
    day date primary key
);

-- Up to when a task has gone through the history. Hours of usage before it are summed to days.
create table shard.history_floor (
    task text primary key check (task = 'usage'),
    until timestamptz not null
);
