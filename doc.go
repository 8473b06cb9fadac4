// Package gormflake gives GORM models Snowflake primary keys, assigned in
// memory before the INSERT.
//
// Open once and tag the key:
//
//	gen, err := gormflake.Open(ctx, db)
//
//	type Order struct {
//		ID types.ID `gorm:"primaryKey" snowflake:"pk"`
//	}
//
// Every row that GORM creates then gets its key before any user hook runs and
// before the transaction opens: single structs, slices, batches, maps,
// associations at any depth, Save, FirstOrCreate, upserts and the generics
// API. A key that the caller set is kept. All rows of one statement that lack a
// key are served by one call of the generator.
//
// # Tags
//
//	snowflake:"pk"            a primary key column
//	snowflake:"id"            any other column that holds an ID
//	snowflake:"serial=PAY"    a string column that holds a serial number, see below
//	snowflake:"pk,gen=name"   the same, from a generator added by [WithGenerator]
//
// A tagged field is a types.ID, int64, uint64, int or uint (where they have 64
// bits), a string, a named type of one of these kinds, a pointer to one, or
// its sql.Null form. A tag that means nothing, or that stands on a field which
// cannot hold an ID, is an error at the first create; [Check] finds it at start-up.
//
// # Serial numbers
//
//	Number string `gorm:"size:32;uniqueIndex;<-:create" snowflake:"serial=PAY"`
//
// A serial number such as PAY2022062816074010511260000 is an ID as package
// [serial] writes it, and its Parse gives the ID back. It is filled where keys
// are, if it is empty; one that is set is kept. The field is a string, a named
// string, a pointer to one, or its sql.Null form, and may be the primary key.
//
// It is made from the row's own key where that is the row's only primary key,
// tagged pk and of the same generator, at the time when it is filled. A key that
// the caller has set counts as well if the layout holds it: the serial number of
// an old key such as 17 has a time just after the epoch, and is as unique and
// reversible as any. All other rows get a fresh ID for it, which several serial
// numbers of one row share.
//
// Where the key is also the foreign key of a belongs-to relation, GORM sets it
// when it saves that relation, after BeforeSave and BeforeCreate. A row with such
// a relation is numbered only then, so that these hooks see no serial number.
//
// The layout is that of the generator, which must tell it by a method
// Layout() snowflake.Layout, as a *snowflake.Generator does. A column too narrow
// for its serial numbers is an error at the first create.
//
// GORM updates the column like any other: Save writes an empty string over a
// serial number that the struct lacks, and an upsert with UpdateAll replaces it
// by that of the new struct. gorm:"<-:create" prevents both.
//
// # Select and Omit
//
// A tagged column that the statement omits ([gorm.DB.Omit]) is not filled. One
// that [gorm.DB.Select] leaves out is written all the same, because the row
// would otherwise have another key than the struct. The serial number of a row
// whose key is omitted is made from a fresh ID.
//
// # Upserts
//
// A row that an upsert finds by another unique column keeps its old key and its
// serial number. Where the database has RETURNING (SQLite, PostgreSQL, MariaDB)
// the struct then holds these; children that were linked to the replaced one, by [Assign]
// or by hand, need linking again. MySQL cannot tell: read the row by its unique
// column. DO NOTHING tells nowhere: if RowsAffected is 0, the key and the serial
// number in the struct are in no row.
package gormflake
