//! The usage of a blob cache, charged to a block cache: RocksDB's `ChargedCache`.

use std::sync::{Arc, Weak};

use base::sync::Mutex;
use cache::EntryRole;
use sst::{BlockCache, CacheReservation};

/// The charge of a blob cache to a block cache. All families and databases of the process that use the two
/// share it, so that the usage is charged once.
pub(crate) struct BlobCacheCharge {
    blobs: Arc<BlockCache>,
    blocks: Arc<BlockCache>,
    reservation: CacheReservation,
}

/// The charges in use.
static CHARGES: Mutex<Vec<Weak<BlobCacheCharge>>> = Mutex::new(Vec::new());

impl BlobCacheCharge {
    /// The charge of `blobs` to `blocks`.
    pub fn of(blobs: &Arc<BlockCache>, blocks: &Arc<BlockCache>) -> Arc<BlobCacheCharge> {
        let mut charges = CHARGES.lock();
        charges.retain(|charge| charge.strong_count() > 0);
        let same = |charge: &Arc<BlobCacheCharge>| {
            Arc::ptr_eq(&charge.blobs, blobs) && Arc::ptr_eq(&charge.blocks, blocks)
        };
        if let Some(known) = charges.iter().filter_map(Weak::upgrade).find(same) {
            return known;
        }
        let charge = Arc::new(BlobCacheCharge {
            blobs: blobs.clone(),
            blocks: blocks.clone(),
            reservation: CacheReservation::new(blocks.clone(), EntryRole::BlobCache),
        });
        charges.push(Arc::downgrade(&charge));
        charge.update();
        charge
    }

    /// Adjusts the charge to the usage of the blob cache. A block cache without room refuses no value.
    pub fn update(&self) {
        let _ = self.reservation.set(self.blobs.usage());
    }
}
