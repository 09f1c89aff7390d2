-- Requests with tools, schemas, thoughts and cached prompts: prices by bucket, our own cost, the way
-- that was taken, and deadlines of callers.
-- Additive: servers of the version before charge every input token at the input price and deliver
-- the text of an answer only.

set local lock_timeout = '5s';

-- Stages lock lanes, queues and batches before cargo; this does, too.

-- Flex: single requests at the batch price, when the provider has spare capacity.
alter table shard.lane drop constraint lane_via_check;
alter table shard.lane add constraint lane_via_check check (via in ('batch', 'flex', 'realtime'));
-- Since when a flex lane gets no answer for lack of capacity.
alter table shard.lane add column refused_since timestamptz;
-- How many requests a flex lane answers in domain::route_choice::FLEX_WINDOW.
alter table shard.lane add column capacity integer;

-- The caller's deadline, as in the cargo's row: sweep moves cargo whose way ends too late.
alter table shard.waiting add column deadline_at timestamptz;
create index waiting_deadline on shard.waiting (lane, deadline_at) where deadline_at is not null;
-- The earliest deadline that a caller set for cargo of the batch.
alter table shard.batch add column first_deadline_at timestamptz;

-- The prices of the hold that two columns cannot say. Null: every input token costs price_input.
alter table shard.cargo add column price_buckets jsonb;
-- Bits of domain::response_shape. 0: the answer is the contract's.
alter table shard.cargo add column response_shape smallint not null default 0;
-- The caller's deadline. Null: 24 hours after the load.
alter table shard.cargo add column deadline_at timestamptz;
-- Why the cargo took the way that it took; a code of domain::route_choice.
alter table shard.cargo add column route_reason text;
-- What providers billed us for earlier attempts.
alter table shard.cargo add column earlier_cost bigint;

-- Warnings of the load as JSON, encrypted like the request.
alter table shard.request add column warnings bytea;

-- Parts of input_tokens and output_tokens. Null in rows of the version before.
alter table shard.outcome add column cached_tokens bigint;
alter table shard.outcome add column cache_write_tokens bigint;
alter table shard.outcome add column cache_write_1h_tokens bigint;
alter table shard.outcome add column thinking_tokens bigint;
-- What the provider bills us, in billionths of a dollar; null if it is not known.
alter table shard.outcome add column cost bigint;
-- The way by which the provider served the request: batch, flex or realtime.
alter table shard.outcome add column served text;

-- Null in rows of the version before, and for events without tokens.
alter table shard.usage_delta
    add column cached_tokens bigint[],
    add column cache_write_tokens bigint[],
    add column thinking_tokens bigint[],
    add column cost bigint[];

alter table shard.usage add column cached_tokens bigint not null default 0;
alter table shard.usage add column cache_write_tokens bigint not null default 0;
alter table shard.usage add column thinking_tokens bigint not null default 0;
alter table shard.usage add column cost bigint not null default 0;

-- What a million tokens of one bucket cost in a request with so much input. The base rates of input
-- and output are columns of the cargo; the steps state every rate.
create function shard.bucket_rate(buckets jsonb, bucket text, input_tokens bigint, base bigint)
returns numeric
language sql immutable parallel safe as $$
    select coalesce(
        case when input_tokens > (buckets #>> '{steps,1,above}')::bigint
                 then (buckets #>> array['steps', '1', bucket])::numeric
             when input_tokens > (buckets #>> '{steps,0,above}')::bigint
                 then (buckets #>> array['steps', '0', bucket])::numeric
             else (buckets ->> bucket)::numeric
        end,
        base,
        0)
$$;

-- What tokens are worth at the prices of a hold, in nano-dollars, rounded once. The audit compares
-- this with the charge that the worker computed.
create function shard.worth(
    price_input bigint, price_output bigint, buckets jsonb,
    input_tokens bigint, cached_tokens bigint, cache_write_tokens bigint,
    cache_write_1h_tokens bigint, output_tokens bigint)
returns numeric
language sql immutable parallel safe as $$
    select floor((500000 + case
        when buckets is null then
            input_tokens::numeric * coalesce(price_input, 0)
                + output_tokens::numeric * coalesce(price_output, 0)
        else
            (input_tokens - coalesce(cached_tokens, 0) - coalesce(cache_write_tokens, 0)
                    - coalesce(cache_write_1h_tokens, 0))::numeric
                * shard.bucket_rate(buckets, 'input', input_tokens, price_input)
            + coalesce(cached_tokens, 0)
                * shard.bucket_rate(buckets, 'cached_input', input_tokens, price_input)
            + coalesce(cache_write_tokens, 0)
                * shard.bucket_rate(buckets, 'cache_write', input_tokens, price_input)
            + coalesce(cache_write_1h_tokens, 0)
                * shard.bucket_rate(buckets, 'cache_write_1h', input_tokens, price_input)
            + output_tokens * shard.bucket_rate(buckets, 'output', input_tokens, price_output)
        end) / 1000000)
$$;
