-- Credit, holds, quota and the ledger. Everything is new beside what stands, so
-- that servers of the version before go on meanwhile.

set local lock_timeout = '5s';
-- Written with every group of priced loads and of their outcomes: kept short, in
-- place, and never below nothing.
alter table shard.account
    add column posted bigint not null default 0,
    add column held bigint not null default 0,
    add column postings bigint not null default 0,
    -- The organization's own monthly quota; null is its plan's.
    add column monthly_tokens bigint,
    -- The first day of the month that the two counts are of.
    add column period date not null default '1970-01-01',
    add column tokens_used bigint not null default 0,
    add column tokens_reserved bigint not null default 0,
    add constraint account_never_overdrawn check (held >= 0 and held <= posted),
    add constraint account_counts check (tokens_used >= 0 and tokens_reserved >= 0 and postings >= 0);
alter table shard.account set (fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);

-- The hold lies in the cargo it was placed for, at the prices of then; it never
-- changes, and is open as long as the cargo is. Null where nothing is held.
alter table shard.cargo
    add column held bigint,
    add column price_input bigint,
    add column price_output bigint,
    add column reserved_tokens bigint;

-- The outcome is the one settlement (or, failed, the one release) of its cargo's
-- hold. Null where nothing was held.
alter table shard.outcome
    add column charged bigint;

alter table shard.usage_delta
    add column money bigint[];

-- Each row is one posting over a fixed set of accounts whose changes sum to
-- nothing. An organization's postings are numbered without a gap.
create table shard.posting (
    organization uuid not null,
    number bigint not null,
    kind text not null check (kind in ('deposit', 'withdrawal', 'settlement')),
    at timestamptz not null,
    credit bigint not null,
    revenue bigint not null,
    loss bigint not null,
    funding bigint not null,
    -- Of the organization's credit, after this.
    balance bigint not null check (balance >= 0),
    -- What was settled; the amounts stand in the outcomes.
    cargo uuid[],
    -- The payer's name for it: given twice, it is posted once.
    reference text,
    note text,
    primary key (organization, number),
    constraint posting_balanced check (credit + revenue + loss + funding = 0),
    check ((kind = 'settlement') = (cargo is not null))
);
create unique index posting_reference on shard.posting (organization, reference)
    where reference is not null;
create index posting_at on shard.posting (at);

create function shard.refuse_change() returns trigger
language plpgsql as $$
begin
    raise exception 'the ledger is append-only';
end
$$;
create trigger posting_append_only before update or delete or truncate on shard.posting
    for each statement execute function shard.refuse_change();

-- The postings entry by entry, for people.
create view shard.entry as
    select p.organization, p.number, p.at, p.kind, e.account, e.amount
    from shard.posting p,
        lateral (values ('credit', p.credit), ('revenue', p.revenue), ('loss', p.loss),
            ('funding', p.funding)) e (account, amount)
    where e.amount <> 0;

-- What the outcomes of a dropped day came to, so that the ledger can still be proved.
create table shard.closing (
    organization uuid not null,
    day date not null,
    settled bigint not null,
    released bigint not null,
    charged bigint not null,
    primary key (organization, day)
);
