package plugintest

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// assignShape is a tree of one kind of relation and how to write and read it.
type assignShape struct {
	name   string
	models []any                // parents first
	tree   func() any           // a new one without keys
	tables func(tree any) []any // its rows as one slice per table, parents first
	load   func(db *gorm.DB) (any, error)
	joined string // relation whose join rows GORM makes with the last table
}

// loadAll reads all rows of one model with their relations.
func loadAll[T any](preload ...string) func(*gorm.DB) (any, error) {
	return func(db *gorm.DB) (any, error) {
		var rows []T
		for _, name := range preload {
			db = db.Preload(name)
		}
		err := db.Order(clause.OrderByColumn{Column: clause.PrimaryColumn}).Find(&rows).Error
		return &rows, err
	}
}

func assignShapes() []assignShape {
	return []assignShape{
		hasManyShape(), hasOneShape(), belongsToShape(), manyToManyShape(), typedShape(), polymorphicShape(),
		selfShape(), compositeShape(), embeddedShape(), kindsShape(),
	}
}

func newAssignOrders(n int) *[]assignOrder {
	orders := make([]assignOrder, n)
	for i := range orders {
		orders[i].Name = fmt.Sprint("order ", i)
		for j := range 3 {
			line := &assignLine{SKU: fmt.Sprint(i, "-", j), Serials: make([]assignSerial, 2)}
			orders[i].Lines = append(orders[i].Lines, line)
		}
	}
	return &orders
}

func orderTables(tree any) []any {
	var lines []*assignLine
	var serials []assignSerial
	for _, o := range *tree.(*[]assignOrder) {
		lines = append(lines, o.Lines...)
		for _, l := range o.Lines {
			serials = append(serials, l.Serials...)
		}
	}
	return []any{tree, &lines, &serials}
}

func hasManyShape() assignShape {
	return assignShape{
		name:   "has many",
		models: []any{&assignOrder{}, &assignLine{}, &assignSerial{}},
		tree:   func() any { return newAssignOrders(4) },
		tables: orderTables,
		load:   loadAll[assignOrder]("Lines.Serials"),
	}
}

func hasOneShape() assignShape {
	return assignShape{
		name:   "has one",
		models: []any{&assignUser{}, &assignProfile{}, &assignAddress{}},
		tree: func() any {
			return &[]assignUser{
				{Profile: &assignProfile{Bio: "a"}, Address: assignAddress{City: "b"}},
				{Profile: &assignProfile{}},
			}
		},
		tables: func(tree any) []any {
			users := *tree.(*[]assignUser)
			return []any{
				tree,
				[]*assignProfile{users[0].Profile, users[1].Profile},
				[]*assignAddress{&users[0].Address},
			}
		},
		load: loadAll[assignUser]("Profile", "Address"),
	}
}

func belongsToShape() assignShape {
	return assignShape{
		name:   "belongs to",
		models: []any{&assignAuthor{}, &assignPress{}, &assignBook{}},
		tree: func() any {
			shared := &assignAuthor{Name: "shared"}
			return &[]assignBook{
				{Author: shared, Press: assignPress{Name: "p"}},
				{Author: shared},
				{},
			}
		},
		tables: func(tree any) []any {
			books := *tree.(*[]assignBook)
			return []any{books[0].Author, &books[0].Press, tree}
		},
		load: loadAll[assignBook]("Author", "Press"),
	}
}

func manyToManyShape() assignShape {
	return assignShape{
		name:   "many to many",
		models: []any{&assignTag{}, &assignPost{}},
		tree: func() any {
			red, blue := &assignTag{Name: "red"}, &assignTag{Name: "blue"}
			return &[]assignPost{{Tags: []*assignTag{red, blue}}, {Tags: []*assignTag{blue}}}
		},
		tables: func(tree any) []any {
			posts := *tree.(*[]assignPost)
			return []any{posts[0].Tags, tree}
		},
		load:   loadAll[assignPost]("Tags"),
		joined: "Tags",
	}
}

func typedShape() assignShape {
	return assignShape{
		name:   "typed keys",
		models: []any{&assignDish{}, &assignMenu{}},
		tree: func() any {
			soup, rice := &assignDish{Name: "soup"}, &assignDish{Name: "rice"}
			return &[]assignMenu{{Dishes: []*assignDish{soup, rice}}, {Dishes: []*assignDish{rice}}}
		},
		tables: func(tree any) []any {
			menus := *tree.(*[]assignMenu)
			return []any{menus[0].Dishes, tree}
		},
		load:   loadAll[assignMenu]("Dishes"),
		joined: "Dishes",
	}
}

func polymorphicShape() assignShape {
	return assignShape{
		name:   "polymorphic",
		models: []any{&assignVideo{}, &assignComment{}},
		tree: func() any {
			return &[]assignVideo{{Comments: make([]assignComment, 2)}, {Comments: make([]assignComment, 1)}}
		},
		tables: func(tree any) []any {
			videos := *tree.(*[]assignVideo)
			return []any{tree, videos[0].Comments, videos[1].Comments}
		},
		load: loadAll[assignVideo]("Comments"),
	}
}

func selfShape() assignShape {
	return assignShape{
		name:   "self-referential",
		models: []any{&assignCategory{}},
		tree: func() any {
			return &[]assignCategory{{Children: []assignCategory{
				{Children: make([]assignCategory, 2)}, {},
			}}}
		},
		tables: func(tree any) []any {
			root := *tree.(*[]assignCategory)
			return []any{tree, root[0].Children, root[0].Children[0].Children}
		},
		load: func(db *gorm.DB) (any, error) {
			return loadAll[assignCategory]("Children.Children")(db.Where("parent_id IS NULL"))
		},
	}
}

func compositeShape() assignShape {
	return assignShape{
		name:   "composite key",
		models: []any{&assignDoc{}, &assignRevision{}, &assignBlob{}},
		tree: func() any {
			doc := func(tenant int64) assignDoc {
				return assignDoc{TenantID: tenant, Revisions: []assignRevision{
					{Number: 1, Blobs: make([]assignBlob, 2)},
					{Number: 2, Blobs: make([]assignBlob, 1)},
				}}
			}
			return &[]assignDoc{doc(7), doc(8)}
		},
		tables: func(tree any) []any {
			var revisions []assignRevision
			var blobs []assignBlob
			for _, d := range *tree.(*[]assignDoc) {
				revisions = append(revisions, d.Revisions...)
				for _, r := range d.Revisions {
					blobs = append(blobs, r.Blobs...)
				}
			}
			return []any{tree, &revisions, &blobs}
		},
		load: loadAll[assignDoc]("Revisions.Blobs"),
	}
}

func embeddedShape() assignShape {
	return assignShape{
		name:   "embedded",
		models: []any{&assignOpener{}, &assignTicket{}, &assignNote{}},
		tree: func() any {
			return &[]assignTicket{
				{AssignBase: AssignBase{Notes: make([]assignNote, 2)}, Extra: &assignExtra{Opener: &assignOpener{}}},
			}
		},
		tables: func(tree any) []any {
			tickets := *tree.(*[]assignTicket)
			return []any{tickets[0].Extra.Opener, tree, tickets[0].Notes}
		},
		load: loadAll[assignTicket]("Notes", "Extra.Opener"),
	}
}

func kindsShape() assignShape {
	return assignShape{
		name: "kinds of foreign keys",
		models: []any{
			&assignKinds{}, &assignByPointer{}, &assignByInt64{}, &assignByUint64{},
			&assignByNamed{}, &assignByNull{}, &assignByGeneric{}, &assignByTyped{},
		},
		tree: func() any {
			return &[]assignKinds{{
				Pointer: &assignByPointer{}, Int64: &assignByInt64{}, Unsigned: &assignByUint64{},
				Named: &assignByNamed{}, Nullable: &assignByNull{}, Generic: &assignByGeneric{}, Typed: &assignByTyped{},
			}}
		},
		tables: func(tree any) []any {
			k := (*tree.(*[]assignKinds))[0]
			return []any{tree, k.Pointer, k.Int64, k.Unsigned, k.Named, k.Nullable, k.Generic, k.Typed}
		},
		load: loadAll[assignKinds]("Pointer", "Int64", "Unsigned", "Named", "Nullable", "Generic", "Typed"),
	}
}
