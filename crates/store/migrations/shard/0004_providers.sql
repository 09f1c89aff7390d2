-- Providers that take jobs: the journal of submissions, how providers stand, what realtime would
-- have cost, and why a cargo waits.
-- Everything is new beside what stands, so that servers of the version before go on meanwhile.

set local lock_timeout = '5s';

alter table shard.lane
    add column via text not null default 'batch' check (via in ('batch', 'realtime')),
    -- How long its batches took from submission to end, lately.
    add column turnaround_seconds double precision;
alter table shard.lane drop constraint lane_provider_model_kind_key;
alter table shard.lane add constraint lane_name unique (provider, model, kind, via);

-- A submission can be looked for, and built again to the byte, by whoever comes after a crash.
alter table shard.batch
    add column encoder smallint,
    add column digest bytea,
    add column tokens bigint not null default 0,
    -- Since when its tokens count as waiting at the provider.
    add column enqueued_at timestamptz,
    -- The provider's name for the lines that it was given beforehand.
    add column upload text,
    -- From here on the provider may have created the job. Null: it was never asked, or said no.
    add column sent_at timestamptz,
    -- How often it was looked for since, and when first.
    add column looks integer not null default 0,
    add column looked_at timestamptz,
    -- The provider's word that it does not know the job, so often, and when first.
    add column missed integer not null default 0,
    add column missed_at timestamptz,
    add column cancel_wanted_at timestamptz,
    add column cancelled_at timestamptz;
create index batch_open on shard.batch (lane) where state in ('submitting', 'running');

-- What was not answered rests before it goes again; null: it need not.
alter table shard.waiting add column due_at timestamptz;

-- How a provider stands on this shard; without a row, well.
create table shard.provider (
    name text primary key,
    paused_at timestamptz,
    reason text,
    -- When it is tried again by itself.
    retry_at timestamptz,
    -- For one whose jobs carry no label: the one that may be on its way.
    submitting uuid,
    -- What it last turned out to take, below what we were told.
    most_enqueued_tokens bigint,
    lowered_at timestamptz,
    check ((paused_at is null) = (reason is null))
);

-- Null where it failed, where it was free, and where no realtime price was known.
alter table shard.outcome
    add column realtime bigint;

alter table shard.usage_delta
    add column realtime bigint[],
    add column saved bigint[];

-- Sums over those of which a realtime price was known: the charge of the others is in `money` alone.
alter table shard.usage
    add column realtime bigint not null default 0,
    add column saved bigint not null default 0;

-- When it came back from a batch that had no outcome for it, last.
alter table shard.cargo
    add column returned_at timestamptz;

-- Why it was not sent when it was tried last.
alter table shard.batch
    add column delay text;
