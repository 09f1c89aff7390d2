//! Compares a million addresses with a second implementation: prefixes and the longest match.

use super::*;

/// Network, prefix length, whether it is global. IPv4 is written as IPv4-mapped IPv6.
const REFERENCE: &[(u128, u32, bool)] = &[
    (0, 0, false),
    (0x2000 << 112, 3, true),
    (0x2001 << 112, 23, false),
    (0x2001_0db8 << 96, 32, false),
    (0x2002 << 112, 16, false),
    (0x3fff << 112, 20, false),
    (mapped(0), 96, true),
    (mapped(0x0000_0000), 96 + 8, false),
    (mapped(0x0a00_0000), 96 + 8, false),
    (mapped(0x6440_0000), 96 + 10, false),
    (mapped(0x7f00_0000), 96 + 8, false),
    (mapped(0xa11a_0000), 96 + 16, false),
    (mapped(0xa608_0000), 96 + 14, false),
    (mapped(0xa83f_8110), 96 + 32, false),
    (mapped(0xa9fe_0000), 96 + 16, false),
    (mapped(0xac10_0000), 96 + 12, false),
    (mapped(0xc000_0000), 96 + 24, false),
    (mapped(0xc000_0200), 96 + 24, false),
    (mapped(0xc058_6300), 96 + 24, false),
    (mapped(0xc0a8_0000), 96 + 16, false),
    (mapped(0xc612_0000), 96 + 15, false),
    (mapped(0xc633_6400), 96 + 24, false),
    (mapped(0xcb00_7100), 96 + 24, false),
    (mapped(0xe000_0000), 96 + 4, false),
    (mapped(0xf000_0000), 96 + 4, false),
];

const fn mapped(v4: u128) -> u128 {
    0xffff << 32 | v4
}

fn is_global_by_reference(bits: u128) -> bool {
    let mask = |length: u32| u128::MAX.checked_shl(128 - length).unwrap_or(0);
    let matches = REFERENCE
        .iter()
        .filter(|(net, length, _)| bits & mask(*length) == *net);
    matches
        .max_by_key(|(_, length, _)| *length)
        .is_some_and(|(_, _, global)| *global)
}

/// `SplitMix64`, seeded: the same addresses on every run.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn next_u128(&mut self) -> u128 {
        u128::from(self.next_u64()) << 64 | u128::from(self.next_u64())
    }

    /// A fifth each: any IPv4, any IPv6, any in `2000::/3`, inside a block, near a block's edge.
    fn next_address(&mut self) -> u128 {
        let choice = self.next_u64();
        let place = usize::try_from(choice >> 8).unwrap() % REFERENCE.len();
        let (net, length, _) = REFERENCE[place];
        let inner = self.next_u128().checked_shr(length).unwrap_or(0);
        match choice % 5 {
            0 => mapped(u128::from(self.next_u64()) >> 32 & 0xffff_ffff),
            1 => self.next_u128(),
            2 => 0x2000 << 112 | self.next_u128() >> 3,
            3 => net | inner,
            _ => {
                let edge = if inner % 2 == 0 {
                    net
                } else {
                    net | u128::MAX.checked_shr(length).unwrap_or(0)
                };
                let off = u128::from(self.next_u64() % 64);
                if choice & 0x80 == 0 {
                    edge.wrapping_add(off)
                } else {
                    edge.wrapping_sub(off)
                }
            }
        }
    }
}

#[test]
fn a_million_random_addresses_agree_with_the_reference() {
    let mut numbers = SplitMix64(20_260_101);
    let (mut global, mut refused) = (0_u32, 0_u32);
    for _ in 0..1_000_000 {
        let bits = numbers.next_address();
        let address = Ipv6Addr::from_bits(bits);
        let expected = is_global_by_reference(bits);
        assert_eq!(is_global(address.into()), expected, "{address}");
        if let Some(v4) = address.to_ipv4_mapped() {
            assert_eq!(is_global(v4.into()), expected, "{v4}");
        }
        *if expected { &mut global } else { &mut refused } += 1;
    }
    // Both results must be common, or the test shows nothing.
    assert!(
        global > 200_000 && refused > 200_000,
        "{global} global, {refused} refused"
    );
}

#[test]
fn the_reference_agrees_with_the_table_of_blocks() {
    for (address, global) in blocks::probe_addresses() {
        let bits = match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        };
        assert_eq!(is_global_by_reference(bits), global, "{address}");
    }
}
