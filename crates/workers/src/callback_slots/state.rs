//! Counts the slots in use: in total and by class, organization, host and destination.

use std::collections::HashMap;

use domain::host_pace::{HostAnswer, HostClass, HostPace, is_stalled};
use domain::id::OrganizationId;
use domain::recent_map::RecentMap;
use domain::time::Timestamp;
use store::shard::delivery::Destination;

use super::CallbackLimits;

/// How many destinations' paces are remembered. The least recently called are forgotten first.
const MAX_REMEMBERED_PACES: usize = 32_768;

/// Why a destination gets no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoSlotReason {
    /// All slots, or those of its class, are taken.
    Class,
    /// Its limit is reached, or it answers none of its callbacks in flight.
    Destination,
    Organization,
    Host,
}

/// Slots and payload bytes in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SlotUsage {
    pub(crate) slots: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
struct DestinationUsage {
    usage: SlotUsage,
    /// The class under which these slots are counted.
    class: HostClass,
    /// It has not answered since then.
    silent_since: Timestamp,
}

#[derive(Debug)]
pub(super) struct SlotState {
    limits: CallbackLimits,
    total: SlotUsage,
    classes: HashMap<HostClass, SlotUsage>,
    organizations: HashMap<OrganizationId, SlotUsage>,
    hosts: HashMap<String, usize>,
    destinations: HashMap<Destination, DestinationUsage>,
    paces: RecentMap<Destination, HostPace>,
    /// The pace of each host over all organizations: where an organization's first callback starts.
    host_paces: RecentMap<String, HostPace>,
}

impl SlotState {
    pub(super) fn new(limits: CallbackLimits) -> Self {
        Self {
            limits,
            total: SlotUsage::default(),
            classes: HashMap::new(),
            organizations: HashMap::new(),
            hosts: HashMap::new(),
            destinations: HashMap::new(),
            paces: RecentMap::new(MAX_REMEMBERED_PACES),
            host_paces: RecentMap::new(MAX_REMEMBERED_PACES),
        }
    }

    fn pace(&self, destination: &Destination) -> HostPace {
        let known = self.paces.get(destination).copied();
        known.unwrap_or_else(|| match self.host_paces.get(&destination.host) {
            Some(host) if host.class() == HostClass::Failing => HostPace::failing(),
            Some(_) | None => HostPace::default(),
        })
    }

    pub(super) fn class(&self, destination: &Destination) -> HostClass {
        self.pace(destination).class()
    }

    pub(super) fn in_use(&self, class: HostClass) -> SlotUsage {
        self.classes.get(&class).copied().unwrap_or_default()
    }

    /// How many slots hosts of this class may take now; none while its payload memory is full.
    pub(super) fn free_slots_of_class(&self, class: HostClass) -> usize {
        let (whole, own) = (self.limits.payload_bytes, self.in_use(class));
        if self.total.bytes >= whole || own.bytes >= class.ceiling(whole) {
            return 0;
        }
        let total = self.limits.slots.saturating_sub(self.total.slots);
        let ceiling = class.ceiling(self.limits.slots);
        total.min(ceiling.saturating_sub(own.slots))
    }

    pub(super) fn free_slots(
        &self,
        destination: &Destination,
        now: Timestamp,
    ) -> Result<usize, NoSlotReason> {
        let pace = self.pace(destination);
        let in_flight = self.destinations.get(destination);
        let own = in_flight.map_or(0, |it| it.usage.slots);
        if in_flight.is_some_and(|it| is_stalled(own, it.silent_since, now)) {
            return Err(NoSlotReason::Destination);
        }
        let limit = pace.limit().min(self.limits.per_destination);
        let taken = |counts: Option<&usize>| counts.copied().unwrap_or_default();
        let of_organization = self.organization_usage(destination).slots;
        let of_host = taken(self.hosts.get(&destination.host));
        let rooms = [
            (limit.saturating_sub(own), NoSlotReason::Destination),
            (
                self.max_per_organization().saturating_sub(of_organization),
                NoSlotReason::Organization,
            ),
            (
                self.max_per_host().saturating_sub(of_host),
                NoSlotReason::Host,
            ),
            (self.free_slots_of_class(pace.class()), NoSlotReason::Class),
        ];
        let least = rooms.into_iter().min_by_key(|(room, _)| *room);
        match least {
            Some((0, reason)) => Err(reason),
            Some((room, _)) => Ok(room),
            None => Err(NoSlotReason::Class),
        }
    }

    fn organization_usage(&self, destination: &Destination) -> SlotUsage {
        let in_use = self.organizations.get(&destination.organization);
        in_use.copied().unwrap_or_default()
    }

    /// One organization takes at most an eighth of all slots.
    fn max_per_organization(&self) -> usize {
        let CallbackLimits {
            slots,
            per_destination,
            ..
        } = self.limits;
        (slots / 8).max(per_destination).min(slots)
    }

    /// One host, called by many organizations, takes at most a quarter.
    fn max_per_host(&self) -> usize {
        let CallbackLimits {
            slots,
            per_destination,
            ..
        } = self.limits;
        (slots / 4).max(per_destination).min(slots)
    }

    /// Whether a payload fits into the memory of its class and its organization. One organization
    /// takes at most a quarter. A single payload always fits.
    pub(super) fn fits(&self, destination: &Destination, bytes: usize) -> bool {
        let whole = self.limits.payload_bytes;
        let class = self.class(destination);
        let own = self.in_use(class).bytes;
        let in_total = self.total.bytes + bytes <= whole;
        let in_class = own == 0 || (in_total && own + bytes <= class.ceiling(whole));
        let of_organization = self.organization_usage(destination).bytes;
        in_class && (of_organization == 0 || of_organization + bytes <= whole / 4)
    }

    pub(super) fn take(&mut self, destination: &Destination, now: Timestamp) {
        let class = self.class(destination);
        let in_flight = self
            .destinations
            .entry(destination.clone())
            .or_insert_with(|| DestinationUsage {
                usage: SlotUsage::default(),
                class,
                silent_since: now,
            });
        in_flight.usage.slots += 1;
        self.classes.entry(in_flight.class).or_default().slots += 1;
        self.total.slots += 1;
        self.organizations
            .entry(destination.organization)
            .or_default()
            .slots += 1;
        *self.hosts.entry(destination.host.clone()).or_default() += 1;
    }

    pub(super) fn add_bytes(&mut self, destination: &Destination, bytes: usize) {
        if let Some(in_flight) = self.destinations.get_mut(destination) {
            in_flight.usage.bytes += bytes;
            self.classes.entry(in_flight.class).or_default().bytes += bytes;
            self.organizations
                .entry(destination.organization)
                .or_default()
                .bytes += bytes;
            self.total.bytes += bytes;
        }
    }

    pub(super) fn remove_bytes(&mut self, destination: &Destination, bytes: usize) {
        if let Some(in_flight) = self.destinations.get_mut(destination) {
            let own = self.classes.entry(in_flight.class).or_default();
            let organization = self.organizations.entry(destination.organization);
            for count in [
                &mut in_flight.usage.bytes,
                &mut own.bytes,
                &mut organization.or_default().bytes,
                &mut self.total.bytes,
            ] {
                *count = count.saturating_sub(bytes);
            }
        }
    }

    pub(super) fn release(
        &mut self,
        destination: &Destination,
        bytes: usize,
        answer: Option<HostAnswer>,
        now: Timestamp,
    ) {
        self.remove_bytes(destination, bytes);
        if let Some(in_flight) = self.destinations.get_mut(destination) {
            in_flight.usage.slots = in_flight.usage.slots.saturating_sub(1);
            let own = self.classes.entry(in_flight.class).or_default();
            own.slots = own.slots.saturating_sub(1);
            self.total.slots = self.total.slots.saturating_sub(1);
            if answer.is_some() {
                in_flight.silent_since = now;
            }
            if in_flight.usage.slots == 0 {
                self.destinations.remove(destination);
            }
            decrement(&mut self.hosts, &destination.host);
            if let Some(organization) = self.organizations.get_mut(&destination.organization) {
                organization.slots = organization.slots.saturating_sub(1);
                if organization.slots == 0 {
                    self.organizations.remove(&destination.organization);
                }
            }
        }
        if let Some(answer) = answer {
            self.record(destination, answer);
        }
    }

    /// Adapts the paces, and moves the slots in use to the new class.
    fn record(&mut self, destination: &Destination, answer: HostAnswer) {
        let mut pace = self.pace(destination);
        pace.record(answer, self.limits.per_destination);
        self.paces.insert(destination.clone(), pace);
        let host = self.host_paces.get(&destination.host).copied();
        let mut host = host.unwrap_or_default();
        host.record(answer, self.limits.per_destination);
        self.host_paces.insert(destination.host.clone(), host);
        if let Some(in_flight) = self.destinations.get_mut(destination)
            && in_flight.class != pace.class()
        {
            let SlotUsage { slots, bytes } = in_flight.usage;
            let old = self.classes.entry(in_flight.class).or_default();
            old.slots = old.slots.saturating_sub(slots);
            old.bytes = old.bytes.saturating_sub(bytes);
            in_flight.class = pace.class();
            let new = self.classes.entry(in_flight.class).or_default();
            new.slots += slots;
            new.bytes += bytes;
        }
    }
}

fn decrement(counts: &mut HashMap<String, usize>, key: &str) {
    if let Some(count) = counts.get_mut(key) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
