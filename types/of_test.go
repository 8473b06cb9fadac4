package types_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// methods returns the methods of a type and of the pointer to it. In their signatures
// it replaces the type's own name.
func methods(t reflect.Type) map[string]string {
	found := map[string]string{}
	for i := range reflect.PointerTo(t).NumMethod() {
		m := reflect.PointerTo(t).Method(i)
		_, byValue := t.MethodByName(m.Name)
		found[m.Name] = strings.ReplaceAll(m.Type.String(), t.String(), "ID")
		if byValue {
			found[m.Name] += " by value"
		}
	}
	return found
}

// A method that is added to ID must be added to Of, or a typed ID would lack a form.
func TestOfHasTheMethodsOfID(t *testing.T) {
	t.Parallel()
	if got, want := methods(reflect.TypeFor[ticketID]()), methods(reflect.TypeFor[types.ID]()); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// results calls all methods of *T without GORM in their signatures, and returns their
// results by method, each followed by the ID after the call. args has the argument of each
// method that needs one, except for Compare, which gets the ID itself.
func results[T ~int64](id T, args map[string]any) map[string][]any {
	all := map[string][]any{}
	v := reflect.ValueOf(&id)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		var in []reflect.Value
		switch arg, ok := args[name]; {
		case ok:
			in = []reflect.Value{reflect.ValueOf(arg)}
		case v.Method(i).Type().NumIn() > 0 && v.Method(i).Type().In(0) == v.Type().Elem():
			in = []reflect.Value{v.Elem()}
		case v.Method(i).Type().NumIn() > 0:
			continue // a method for GORM
		}
		for _, out := range v.Method(i).Call(in) {
			all[name] = append(all[name], out.Interface())
		}
		all[name] = append(all[name], int64(id))
	}
	return all
}

// Each method of Of returns the same results as the method of ID with this name. The test
// leaves out the methods that GORM calls.
func TestOfDoesWhatIDDoes(t *testing.T) {
	t.Parallel()
	var gql [2]strings.Builder // what MarshalGQL of Of and of ID write
	for _, id := range []types.ID{0, 1, -5, sample, math.MaxInt64} {
		for _, text := range []string{"42", "x", "-7", ""} {
			args := func(i int) map[string]any {
				return map[string]any{
					"AppendText": []byte("a"), "AppendBinary": []byte("a"), "MarshalGQL": &gql[i], "Scan": text,
					"UnmarshalText": []byte(text), "UnmarshalBinary": []byte(text), "UnmarshalParam": text,
					"UnmarshalJSON": []byte(text), "UnmarshalGQL": text, "UnmarshalCBOR": []byte("\x62" + text),
				}
			}
			got, want := results(types.Of[string](id), args(0)), results(id, args(1))
			for method := range want {
				if !reflect.DeepEqual(got[method], want[method]) {
					t.Errorf("%s of ID %d, text %q: got %v, want %v", method, id, text, got[method], want[method])
				}
			}
			// Fewer than 22 methods would mean that results has missed some.
			if len(want) != 22 || gql[0].String() != gql[1].String() {
				t.Errorf("%d methods; MarshalGQL writes %s, want %s", len(want), &gql[0], &gql[1])
			}
		}
	}
}

func TestOfCompare(t *testing.T) {
	t.Parallel()
	ids := []ticketID{7, ticketID(sample), 0, -5}
	slices.SortFunc(ids, ticketID.Compare)
	if want := []ticketID{-5, 0, 7, ticketID(sample)}; !slices.Equal(ids, want) {
		t.Errorf("sorted: %v, want %v", ids, want)
	}
}

func TestOfJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(map[ticketID]*ticket{7: {ID: ticketID(sample)}})
	if want := `{"7":{"id":"7529595880471527425","Parent":null,"Note":"0"}}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
	var back map[ticketID]ticket
	if err := json.Unmarshal(text, &back); err != nil || types.ID(back[7].ID) != sample {
		t.Errorf("got %v, %v", back, err)
	}
}

// A typed key has the column of an ID, is found in conditions, and is protected against
// rows without a key.
func TestOfInGORM(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		migrateTwice(t, db, &ticket{})
		parent := ticketID(sample)
		want := []ticket{{ID: parent, Note: -5}, {ID: 42, Parent: &parent}}
		if err := db.Create(&want).Error; err != nil {
			t.Fatal(err)
		}
		for _, query := range []*gorm.DB{
			db, db.Where("id IN ?", []ticketID{42, parent}), db.Where(map[string]any{"id": []types.ID{42, sample}}),
		} {
			var got []ticket
			if err := query.Order("id DESC").Find(&got).Error; err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		}
		if err := db.Create(&ticket{}).Error; err == nil || !strings.Contains(err.Error(), "model ticket, field ID: the row has no key") {
			t.Errorf("err = %v", err)
		}
	})
}

// A typed key is SQLite's row number too.
func TestOfSQLiteKeyIsTheRowID(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	if err := db.AutoMigrate(&ticket{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Create(&ticket{ID: 9}).Error; err != nil {
		t.Fatal(err)
	}
	var id ticketID
	if err := db.Raw("SELECT rowid FROM tickets").Row().Scan(&id); err != nil || id != 9 {
		t.Errorf("rowid is %d, %v; want 9", id, err)
	}
}
