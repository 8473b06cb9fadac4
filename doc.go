// Package gormflake gives GORM models Snowflake primary keys, assigned in memory before
// the INSERT.
//
// Open once and tag the key:
//
//	gen, err := gormflake.Open(ctx, db)
//
//	type Order struct {
//		ID types.ID `gorm:"primaryKey" snowflake:"pk"`
//	}
//
// Every row that GORM creates then gets its key before any user hook runs and before the
// transaction begins. This includes single structs, slices, batches, maps, associations
// at any depth, Save, FirstOrCreate, upserts and the generics API. The plugin calls the
// generator once per statement, for all rows that lack a key.
//
// The plugin keeps a key that the caller has set. Therefore do not bind a client's JSON
// into a model, because the client would then choose keys. Bind it into a type without
// keys.
//
// # Tags
//
//	snowflake:"pk"            a primary key column
//	snowflake:"id"            any other column that holds an ID
//	snowflake:"serial=PAY"    a string column that holds a serial number, see below
//	snowflake:"pk,gen=name"   a primary key from a generator added by [WithGenerator]
//	snowflake:"-"             a model that [WithModels] leaves out
//
// The option gen=name is possible after each of the first three tags.
//
// A tagged field is a types.ID, types.Of, int64, uint64, a 64-bit int or uint, a string,
// a named type of one of these kinds, a pointer to such a type, or its sql.Null form. If
// a tag is invalid, or is on a field that cannot hold an ID, the first create returns an
// error. [Check] finds the mistake at start-up.
//
// # Serial numbers
//
//	Number string `gorm:"size:32;uniqueIndex;<-:create" snowflake:"serial=PAY"`
//
// A serial number such as PAY2022062816074010511260000 is an ID in the format of package
// [serial], whose Parse returns the ID again. The plugin sets an empty serial number when
// it sets keys, and keeps a serial number that is set. The field is a string, a named
// string, a pointer to such a type, or its sql.Null form, and may be the primary key.
//
// The plugin makes the serial number from the row's own key if that key is the row's only
// primary key, is tagged pk and has the same generator. This includes a key that the
// caller set, if it fits into the layout. For example, the serial number of an old key
// such as 17 has a time just after the epoch, and is as unique and reversible as any
// other. In all other cases the row gets a new ID for its serial numbers.
//
// If the key is also the foreign key of a belongs-to relation, GORM sets it when it saves
// that relation, after BeforeSave and BeforeCreate. The plugin sets the serial number of
// such a row only then, so these hooks do not see it.
//
// The generator must have a method Layout() snowflake.Layout, as a *snowflake.Generator
// has. If a column is too narrow for its serial numbers, the first create returns an
// error.
//
// An upsert with UpdateAll leaves tagged columns unchanged, so that a row keeps its IDs
// and its serial number. Save does not protect the serial number, because GORM updates
// its column like any other. If the struct holds the empty string, Save overwrites the
// serial number with it. gorm:"<-:create" prevents that.
//
// # Select and Omit
//
// The plugin does not fill a tagged column that the statement omits ([gorm.DB.Omit]). It
// writes a tagged column that [gorm.DB.Select] leaves out, because the row would
// otherwise have another key than the struct. A create returns an error if it omits a
// primary key, unless the model leaves the key to the database and GORM reads it back. It
// also returns an error if it omits another tagged column whose value the struct has.
//
// # Upserts
//
// If an upsert finds an existing row by another unique column, the row keeps its key and
// its serial number. The struct and its children in the same Create get this key. SQLite,
// PostgreSQL and MariaDB return it; on MySQL the plugin asks for it. Children that
// [Assign] or the caller linked to the replaced key before the Create must be linked
// again. If DO NOTHING or a condition leaves a row out, its struct afterwards has no key,
// or the key of the existing row.
//
// An upsert by another column than the key returns an error if it creates a slice of
// maps, or a slice with Where, because GORM cannot assign the keys that the database
// returns. Create such rows one by one. An upsert also returns an error if the plugin
// cannot find the row, because the model does not declare its unique columns.
//
// The plugin makes these decisions after all hooks, from the statement that is sent. A
// callback that changes the statement must be registered before the plugin.
package gormflake
