//! Reads and iterators that a database, a transaction database and a transaction have in common.

/// The read methods of a type that is [`DBAccess`](crate::DBAccess).
macro_rules! read_methods {
    () => {
        /// The value of a key of the default family.
        ///
        /// # Errors
        /// The errors of the read.
        pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
            DBAccess::get_opt(self, key, &ReadOptions::default())
        }

        /// The value of a key of the default family, with options.
        ///
        /// # Errors
        /// The errors of the read.
        pub fn get_opt<K: AsRef<[u8]>>(
            &self,
            key: K,
            readopts: &ReadOptions,
        ) -> Result<Option<Vec<u8>>, Error> {
            DBAccess::get_opt(self, key, readopts)
        }

        /// The value of a key.
        ///
        /// # Errors
        /// The errors of the read.
        pub fn get_cf<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            key: K,
        ) -> Result<Option<Vec<u8>>, Error> {
            DBAccess::get_cf_opt(self, cf, key, &ReadOptions::default())
        }

        /// The value of a key, with options.
        ///
        /// # Errors
        /// The errors of the read.
        pub fn get_cf_opt<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            key: K,
            readopts: &ReadOptions,
        ) -> Result<Option<Vec<u8>>, Error> {
            DBAccess::get_cf_opt(self, cf, key, readopts)
        }

        /// The pinned value of a key of the default family.
        ///
        /// # Errors
        /// The errors of the read.
        pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
            DBAccess::get_pinned_opt(self, key, &ReadOptions::default())
        }

        /// The pinned value of a key of the default family, with options.
        ///
        /// # Errors
        /// The errors of the read.
        pub fn get_pinned_opt<K: AsRef<[u8]>>(
            &self,
            key: K,
            readopts: &ReadOptions,
        ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
            DBAccess::get_pinned_opt(self, key, readopts)
        }

        /// The pinned value of a key.
        ///
        /// # Errors
        /// The errors of the read.
        pub fn get_pinned_cf<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            key: K,
        ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
            DBAccess::get_pinned_cf_opt(self, cf, key, &ReadOptions::default())
        }

        /// The pinned value of a key, with options.
        ///
        /// # Errors
        /// The errors of the read.
        pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            key: K,
            readopts: &ReadOptions,
        ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
            DBAccess::get_pinned_cf_opt(self, cf, key, readopts)
        }

        /// The values of keys of the default family, in their order.
        pub fn multi_get<K, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
        where
            K: AsRef<[u8]>,
            I: IntoIterator<Item = K>,
        {
            DBAccess::multi_get_opt(self, keys, &ReadOptions::default())
        }

        /// The values of keys of the default family, in their order, with options.
        pub fn multi_get_opt<K, I>(
            &self,
            keys: I,
            readopts: &ReadOptions,
        ) -> Vec<Result<Option<Vec<u8>>, Error>>
        where
            K: AsRef<[u8]>,
            I: IntoIterator<Item = K>,
        {
            DBAccess::multi_get_opt(self, keys, readopts)
        }

        /// The values of keys of any families, in their order.
        pub fn multi_get_cf<'a, 'b: 'a, K, I, W>(&'a self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
        where
            K: AsRef<[u8]>,
            I: IntoIterator<Item = (&'b W, K)>,
            W: 'b + AsColumnFamilyRef,
        {
            DBAccess::multi_get_cf_opt(self, keys, &ReadOptions::default())
        }

        /// The values of keys of any families, in their order, with options.
        pub fn multi_get_cf_opt<'a, 'b: 'a, K, I, W>(
            &'a self,
            keys: I,
            readopts: &ReadOptions,
        ) -> Vec<Result<Option<Vec<u8>>, Error>>
        where
            K: AsRef<[u8]>,
            I: IntoIterator<Item = (&'b W, K)>,
            W: 'b + AsColumnFamilyRef,
        {
            DBAccess::multi_get_cf_opt(self, keys, readopts)
        }

        /// An iterator over the default family.
        pub fn iterator<'a: 'b, 'b>(&'a self, mode: IteratorMode<'_>) -> DBIteratorWithThreadMode<'b, Self> {
            self.iterator_opt(mode, ReadOptions::default())
        }

        /// An iterator over the default family, with options.
        pub fn iterator_opt<'a: 'b, 'b>(
            &'a self,
            mode: IteratorMode<'_>,
            readopts: ReadOptions,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            DBIteratorWithThreadMode::new(self, self.engine_iter(None, &readopts), &readopts, mode)
        }

        /// An iterator over a family.
        pub fn iterator_cf<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            mode: IteratorMode<'_>,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            self.iterator_cf_opt(cf_handle, ReadOptions::default(), mode)
        }

        /// An iterator over a family, with options.
        pub fn iterator_cf_opt<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            readopts: ReadOptions,
            mode: IteratorMode<'_>,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            let inner = self.engine_iter(Some(cf_handle.family()), &readopts);
            DBIteratorWithThreadMode::new(self, inner, &readopts, mode)
        }

        /// An iterator over the default family that sees all keys, whatever its prefix extractor.
        pub fn full_iterator<'a: 'b, 'b>(
            &'a self,
            mode: IteratorMode<'_>,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            self.iterator_opt(mode, ReadOptions::default())
        }

        /// An iterator over a family that sees all keys, whatever its prefix extractor.
        pub fn full_iterator_cf<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            mode: IteratorMode<'_>,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            self.iterator_cf(cf_handle, mode)
        }

        /// An iterator over the keys of the default family with the same prefix as this one, by the family's
        /// extractor.
        pub fn prefix_iterator<'a: 'b, 'b, P: AsRef<[u8]>>(
            &'a self,
            prefix: P,
        ) -> DBIteratorWithThreadMode<'b, Self> {
            let mut readopts = ReadOptions::default();
            readopts.set_prefix_same_as_start(true);
            self.iterator_opt(
                IteratorMode::From(prefix.as_ref(), Direction::Forward),
                readopts,
            )
        }

        /// An iterator over the keys of a family with the same prefix as this one, by the family's extractor.
        pub fn prefix_iterator_cf<'a, P: AsRef<[u8]>>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            prefix: P,
        ) -> DBIteratorWithThreadMode<'a, Self> {
            let mut readopts = ReadOptions::default();
            readopts.set_prefix_same_as_start(true);
            let mode = IteratorMode::From(prefix.as_ref(), Direction::Forward);
            self.iterator_cf_opt(cf_handle, readopts, mode)
        }

        /// A raw iterator over the default family.
        pub fn raw_iterator<'a: 'b, 'b>(&'a self) -> DBRawIteratorWithThreadMode<'b, Self> {
            self.raw_iterator_opt(ReadOptions::default())
        }

        /// A raw iterator over a family.
        pub fn raw_iterator_cf<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
        ) -> DBRawIteratorWithThreadMode<'b, Self> {
            self.raw_iterator_cf_opt(cf_handle, ReadOptions::default())
        }

        /// A raw iterator over the default family, with options.
        pub fn raw_iterator_opt<'a: 'b, 'b>(
            &'a self,
            readopts: ReadOptions,
        ) -> DBRawIteratorWithThreadMode<'b, Self> {
            DBRawIteratorWithThreadMode::new(self, self.engine_iter(None, &readopts), &readopts)
        }

        /// A raw iterator over a family, with options.
        pub fn raw_iterator_cf_opt<'a: 'b, 'b>(
            &'a self,
            cf_handle: &impl AsColumnFamilyRef,
            readopts: ReadOptions,
        ) -> DBRawIteratorWithThreadMode<'b, Self> {
            DBRawIteratorWithThreadMode::new(
                self,
                self.engine_iter(Some(cf_handle.family()), &readopts),
                &readopts,
            )
        }

        /// A snapshot of the present rows, readable for as long as it is held.
        pub fn snapshot(&self) -> SnapshotWithThreadMode<'_, Self> {
            SnapshotWithThreadMode::new(self)
        }
    };
}
pub(crate) use read_methods;
