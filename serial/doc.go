// Package serial writes Snowflake IDs as business serial numbers, such as the
// number of a payment, and reads them back:
//
//	PAY20220628160740105 11 26 0000   without the blanks:
//	│  │                 │  │  └ sequence
//	│  │                 │  └ worker
//	│  │                 └ datacenter
//	│  └ yyyyMMddHHmmssSSS, the start of the ID's tick in UTC
//	└ code
//
// A serial number is a view of an ID, and nothing but the ID makes it unique:
// Parse(Format(id)) is id for every ID of every valid layout. No counter, no
// table and no lock stand behind it, so none of them can fall behind.
//
// # Order and width
//
// All serial numbers of one [Format] have one width, and as texts they sort as
// their IDs do, by time first. The collation of the database does not matter:
// they consist of upper-case letters and digits, and letters and separators stand
// at the same places in all of them. A day is a range of texts:
//
//	WHERE number >= 'PAY20261120' AND number < 'PAY20261121'
//
// Serial numbers with different codes or of different layouts have no order
// between them.
//
// Datacenter, worker and sequence have the digits of their largest value, with
// zeros in front; a field for which the layout has no bits is left out. What is
// shown of a tick longer than a millisecond is its start.
//
// # Time
//
// The time is UTC, so that no hour of a day when clocks are set back comes
// twice. Unix time, on which IDs are built, has no leap seconds: no serial number
// has a second 60.
//
// # What it discloses
//
// A serial number shows its readers when it was made and by which worker. It
// has gaps, as IDs have them.
package serial
