package fill_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

type (
	account struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string
	}
	// profile has the key of its account, which GORM copies only when the account is
	// saved.
	profile struct {
		AccountID types.ID `gorm:"primaryKey" snowflake:"pk"`
		Account   account
		Number    string  `gorm:"size:40;uniqueIndex" snowflake:"serial=PAY"`
		Photos    []photo `gorm:"foreignKey:ProfileNumber;references:Number"`
	}
	photo struct {
		ID            types.ID `gorm:"primaryKey" snowflake:"pk"`
		ProfileNumber string   `gorm:"size:40"`
	}
	// avatar has the key of its profile, behind pointers.
	avatar struct {
		Base   *avatarBase `gorm:"embedded"`
		Number *string     `gorm:"size:40;uniqueIndex" snowflake:"serial=PAY"`
	}
	avatarBase struct {
		ProfileID types.ID `gorm:"primaryKey" snowflake:"pk"`
		Profile   *profile
	}
)

// TestSerialSharedByBelongsTo checks that the serial number is made from the parent's
// key, if the row gets its key from the parent.
func TestSerialSharedByBelongsTo(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &account{}, &profile{}, &photo{}, &avatar{})
		ids := make([]types.ID, 16) // eight for each of the two runs
		gen, err := plugintest.SharedGenerator()
		if err := errors.Join(err, gen.Fill(t.Context(), ids)); err != nil {
			t.Fatal(err)
		}
		for i, assign := range []bool{false, true} {
			profiles := []profile{
				{Account: account{Name: "a"}, Photos: []photo{{}, {}}},    // an account without a key
				{Account: account{ID: ids[8*i]}, Photos: []photo{{}}},     // an account with a key
				{Account: account{ID: ids[8*i+1]}, AccountID: ids[8*i+2]}, // the account's key replaces the row's key
				{AccountID: ids[8*i+3]},                                   // the key of a stored account
				{AccountID: ids[8*i+4], Number: fmt.Sprint("set ", i)},    // the key of a stored account, and a number
			}
			avatars := []*avatar{{Base: &avatarBase{}}, {Base: &avatarBase{ProfileID: ids[8*i+5], Profile: &profile{Account: account{ID: ids[8*i+6]}}}}}
			avatars[0].Base.Profile = &profile{Account: account{Name: "b"}, Photos: []photo{{}}}
			plugintest.Must(t, db.Create([]account{{ID: ids[8*i+3]}, {ID: ids[8*i+4]}}))
			if assign {
				if err := errors.Join(gormflake.Assign(db, &profiles), gormflake.Assign(db, avatars)); err != nil {
					t.Fatal(err)
				}
				for _, p := range profiles {
					p.check(t, p)
				}
			}
			plugintest.Must(t, db.Create(&profiles))
			plugintest.Must(t, db.Create(avatars))
			for _, p := range profiles {
				p.check(t, loadProfile(t, db, p.Number))
			}
			for _, a := range avatars {
				a.Base.Profile.check(t, loadProfile(t, db, a.Base.Profile.Number))
				var stored avatar
				plugintest.Must(t, db.First(&stored, "number = ?", a.Number))
				if stored.Base.ProfileID != a.Base.Profile.AccountID || plugintest.IDOf(*stored.Number) != stored.Base.ProfileID {
					t.Errorf("avatar of %d has key %d, number %s", a.Base.Profile.AccountID, stored.Base.ProfileID, *stored.Number)
				}
			}
		}
	})
}

// loadProfile reads the profile with this serial number and its related rows.
func loadProfile(t *testing.T, db *gorm.DB, number string) profile {
	t.Helper()
	var p profile
	plugintest.Must(t, db.Preload(clause.Associations).First(&p, "number = ?", number))
	return p
}

// check compares the row with the struct, and the parts of the row with each other.
func (p profile) check(t *testing.T, row profile) {
	t.Helper()
	if row.AccountID != p.AccountID || row.Number != p.Number || len(row.Photos) != len(p.Photos) {
		t.Errorf("row = %+v, struct %+v", row, p)
	}
	if row.AccountID == 0 || plugintest.IDOf(row.Number) != row.AccountID && strings.HasPrefix(row.Number, "PAY") {
		t.Errorf("row of key %d has number %s", row.AccountID, row.Number)
	}
	for _, ph := range row.Photos {
		if ph.ProfileNumber != row.Number {
			t.Errorf("photo of %s refers to %q", row.Number, ph.ProfileNumber)
		}
	}
}

// TestSerialSharedByForeignLayout checks rows that get the key of a parent whose
// generator has a larger layout. If the key is too large for the row's own layout, the
// serial number is made from a new ID.
func TestSerialSharedByForeignLayout(t *testing.T) {
	t.Parallel()
	type (
		wideKey struct {
			ID types.ID `gorm:"primaryKey" snowflake:"pk,gen=wide"`
		}
		narrow struct {
			WideKeyID types.ID `gorm:"primaryKey" snowflake:"pk"`
			WideKey   *wideKey
			Number    string `snowflake:"serial=PAY"`
			Second    string `snowflake:"serial=PAY"`
		}
	)
	// The number is made from the key 5 itself, and for 1<<60 from the second new ID. The
	// first was the row's own key, which the parent's key replaces.
	for key, from := range map[types.ID]types.ID{5: 5, 1 << 60: 1002} {
		for _, assign := range []bool{false, true} {
			gen, wide := &plugintest.LayoutCounter{IDLayout: snowflake.JSSafeLayout()}, plugintest.NewLayoutCounter()
			db := plugintest.Dry(t, gormflake.New(gen, gormflake.WithGenerator("wide", wide)))
			row := narrow{WideKey: &wideKey{key}}
			if assign {
				if err := gormflake.Assign(db, &row); err != nil {
					t.Fatal(err)
				}
			} else {
				plugintest.Must(t, db.Create(&row))
			}
			if want := plugintest.JSNumbers.Format(from); row != (narrow{key, row.WideKey, want, want}) {
				t.Errorf("row = %+v, want key %d and number %s", row, key, want)
			}
		}
	}
}

// TestSerialOfKeyReplacedByParent checks that Assign gives a row a serial number from a
// new ID, if the key of a parent replaces the row's key and is too large for a serial
// number.
func TestSerialOfKeyReplacedByParent(t *testing.T) {
	t.Parallel()
	type deed struct {
		PlotID types.ID `gorm:"primaryKey" snowflake:"pk"`
		CopyOf types.ID
		Number string `snowflake:"serial=PAY"`
	}
	type plot struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk,gen=wide"`
		Deed   *deed    `gorm:"foreignKey:PlotID"`
		Copies []deed   `gorm:"foreignKey:CopyOf"`
	}
	gen, wide := &plugintest.LayoutCounter{IDLayout: snowflake.JSSafeLayout()}, plugintest.NewLayoutCounter()
	db := plugintest.Dry(t, gormflake.New(gen, gormflake.WithGenerator("wide", wide)))
	row := plot{ID: 1 << 60, Deed: &deed{PlotID: 7}}
	if err := gormflake.Assign(db, &row); err != nil {
		t.Fatal(err)
	}
	if want := (deed{PlotID: 1 << 60, Number: plugintest.JSNumbers.Format(1001)}); *row.Deed != want {
		t.Errorf("deed = %+v, want %+v", *row.Deed, want)
	}
}

// TestSerialSharedOmitted checks a row that can get its key from a parent. If the statement
// omits the parent, the row gets its own key, and a serial number from this key. If the
// statement omits the serial number, the row gets none.
func TestSerialSharedOmitted(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter()))
	// number is the ID from which the serial number is made, or 0 if the row gets none.
	for _, test := range []struct {
		omit   string
		number types.ID
	}{{"Account", 1001}, {clause.Associations, 1002}, {"Number", 0}} {
		row := profile{Account: account{ID: 7, Name: "a"}}
		plugintest.Must(t, db.Omit(test.omit).Create(&row))
		if plugintest.IDOf(row.Number) != test.number {
			t.Errorf("without %s: row = %+v, want the number of %d", test.omit, row, test.number)
		}
	}
}

// TestAssignPassesOnReplacedKeys checks a row that Assign reaches on several paths. The chair of
// a club is also the member of an owner, and its primary key is the foreign key to that owner.
// So Assign replaces the key of the chair by the key of the owner, after other rows have got the
// old key. All foreign keys to the chair, and the serial numbers that are made from its key, must
// get the new key.
func TestAssignPassesOnReplacedKeys(t *testing.T) {
	t.Parallel()
	type (
		member struct {
			OwnerID types.ID `gorm:"primaryKey" snowflake:"pk"`
			Number  string   `snowflake:"serial=PAY"`
		}
		owner struct {
			ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
			ClubID types.ID
			Member *member `gorm:"foreignKey:OwnerID"`
		}
		badge struct {
			MemberID types.ID `gorm:"primaryKey" snowflake:"pk"`
			Member   *member  `gorm:"foreignKey:MemberID"`
			Number   string   `snowflake:"serial=PAY"`
		}
		club struct {
			ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
			ChairID types.ID
			Chair   *member `gorm:"foreignKey:ChairID"`
			BadgeID types.ID
			Badge   *badge `gorm:"foreignKey:BadgeID"`
			Owners  []owner
		}
	)
	db := plugintest.Dry(t, plugintest.NewPlugin(t))
	// before is the key of the chair before Assign. The chair's owner replaces it.
	for _, before := range []types.ID{0, 7} {
		chair := &member{OwnerID: before}
		c := club{Chair: chair, Badge: &badge{Member: chair}, Owners: []owner{{Member: chair}}}
		if err := gormflake.Assign(db, &c); err != nil {
			t.Fatal(err)
		}
		want := c.Owners[0].ID
		if want == 0 || chair.OwnerID != want || c.ChairID != want || c.Badge.MemberID != want || c.BadgeID != want {
			t.Errorf("owner %d has member %d, club chair %d, badge %d of %d", want, chair.OwnerID, c.ChairID, c.BadgeID, c.Badge.MemberID)
		}
		if plugintest.IDOf(chair.Number) != want || plugintest.IDOf(c.Badge.Number) != want {
			t.Errorf("owner %d has numbers %s and %s", want, chair.Number, c.Badge.Number)
		}
	}
}
