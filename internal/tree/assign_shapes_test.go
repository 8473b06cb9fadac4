package tree_test

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/plugintest"
)

// assignShapes returns trees of all kinds of relations and keys, with their models, their
// rows by table, and a function that loads them.
func assignShapes() []plugintest.AssignShape {
	return []plugintest.AssignShape{
		plugintest.HasManyShape(), hasOneShape(), belongsToShape(), manyToManyShape(), typedShape(), polymorphicShape(),
		selfShape(), compositeShape(), embeddedShape(), kindsShape(),
	}
}

func hasOneShape() plugintest.AssignShape {
	return plugintest.AssignShape{
		Name:   "has one",
		Models: []any{&plugintest.AssignUser{}, &plugintest.AssignProfile{}, &plugintest.AssignAddress{}},
		Tree: func() any {
			return &[]plugintest.AssignUser{
				{Profile: &plugintest.AssignProfile{Bio: "a"}, Address: plugintest.AssignAddress{City: "b"}},
				{Profile: &plugintest.AssignProfile{}},
			}
		},
		Tables: func(tree any) []any {
			users := *tree.(*[]plugintest.AssignUser)
			return []any{
				tree,
				[]*plugintest.AssignProfile{users[0].Profile, users[1].Profile},
				[]*plugintest.AssignAddress{&users[0].Address},
			}
		},
		Load: plugintest.LoadAll[plugintest.AssignUser]("Profile", "Address"),
	}
}

func belongsToShape() plugintest.AssignShape {
	return plugintest.AssignShape{
		Name:   "belongs to",
		Models: []any{&assignAuthor{}, &assignPress{}, &assignBook{}},
		Tree: func() any {
			shared := &assignAuthor{Name: "shared"}
			return &[]assignBook{
				{Author: shared, Press: assignPress{Name: "p"}},
				{Author: shared},
				{},
			}
		},
		Tables: func(tree any) []any {
			books := *tree.(*[]assignBook)
			return []any{books[0].Author, &books[0].Press, tree}
		},
		Load: plugintest.LoadAll[assignBook]("Author", "Press"),
	}
}

func manyToManyShape() plugintest.AssignShape {
	return plugintest.AssignShape{
		Name:   "many to many",
		Models: []any{&plugintest.AssignTag{}, &plugintest.AssignPost{}},
		Tree: func() any {
			red, blue := &plugintest.AssignTag{Name: "red"}, &plugintest.AssignTag{Name: "blue"}
			return &[]plugintest.AssignPost{{Tags: []*plugintest.AssignTag{red, blue}}, {Tags: []*plugintest.AssignTag{blue}}}
		},
		Tables: func(tree any) []any {
			posts := *tree.(*[]plugintest.AssignPost)
			return []any{posts[0].Tags, tree}
		},
		Load:   plugintest.LoadAll[plugintest.AssignPost]("Tags"),
		Joined: "Tags",
	}
}

func typedShape() plugintest.AssignShape {
	return plugintest.AssignShape{
		Name:   "typed keys",
		Models: []any{&assignDish{}, &assignMenu{}},
		Tree: func() any {
			soup, rice := &assignDish{Name: "soup"}, &assignDish{Name: "rice"}
			return &[]assignMenu{{Dishes: []*assignDish{soup, rice}}, {Dishes: []*assignDish{rice}}}
		},
		Tables: func(tree any) []any {
			menus := *tree.(*[]assignMenu)
			return []any{menus[0].Dishes, tree}
		},
		Load:   plugintest.LoadAll[assignMenu]("Dishes"),
		Joined: "Dishes",
	}
}

func polymorphicShape() plugintest.AssignShape {
	return plugintest.AssignShape{
		Name:   "polymorphic",
		Models: []any{&assignVideo{}, &assignComment{}},
		Tree: func() any {
			return &[]assignVideo{{Comments: make([]assignComment, 2)}, {Comments: make([]assignComment, 1)}}
		},
		Tables: func(tree any) []any {
			videos := *tree.(*[]assignVideo)
			return []any{tree, videos[0].Comments, videos[1].Comments}
		},
		Load: plugintest.LoadAll[assignVideo]("Comments"),
	}
}

func selfShape() plugintest.AssignShape {
	return plugintest.AssignShape{
		Name:   "self-referential",
		Models: []any{&assignCategory{}},
		Tree: func() any {
			return &[]assignCategory{{Children: []assignCategory{
				{Children: make([]assignCategory, 2)}, {},
			}}}
		},
		Tables: func(tree any) []any {
			root := *tree.(*[]assignCategory)
			return []any{tree, root[0].Children, root[0].Children[0].Children}
		},
		Load: func(db *gorm.DB) (any, error) {
			return plugintest.LoadAll[assignCategory]("Children.Children")(db.Where("parent_id IS NULL"))
		},
	}
}

func compositeShape() plugintest.AssignShape {
	return plugintest.AssignShape{
		Name:   "composite key",
		Models: []any{&assignDoc{}, &assignRevision{}, &assignBlob{}},
		Tree: func() any {
			doc := func(tenant int64) assignDoc {
				return assignDoc{TenantID: tenant, Revisions: []assignRevision{
					{Number: 1, Blobs: make([]assignBlob, 2)},
					{Number: 2, Blobs: make([]assignBlob, 1)},
				}}
			}
			return &[]assignDoc{doc(7), doc(8)}
		},
		Tables: func(tree any) []any {
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
		Load: plugintest.LoadAll[assignDoc]("Revisions.Blobs"),
	}
}

func embeddedShape() plugintest.AssignShape {
	return plugintest.AssignShape{
		Name:   "embedded",
		Models: []any{&assignOpener{}, &assignTicket{}, &assignNote{}},
		Tree: func() any {
			return &[]assignTicket{
				{AssignBase: AssignBase{Notes: make([]assignNote, 2)}, Extra: &assignExtra{Opener: &assignOpener{}}},
			}
		},
		Tables: func(tree any) []any {
			tickets := *tree.(*[]assignTicket)
			return []any{tickets[0].Extra.Opener, tree, tickets[0].Notes}
		},
		Load: plugintest.LoadAll[assignTicket]("Notes", "Extra.Opener"),
	}
}

func kindsShape() plugintest.AssignShape {
	return plugintest.AssignShape{
		Name: "kinds of foreign keys",
		Models: []any{
			&assignKinds{}, &assignByPointer{}, &assignByInt64{}, &assignByUint64{},
			&assignByNamed{}, &assignByNull{}, &assignByGeneric{}, &assignByTyped{},
		},
		Tree: func() any {
			return &[]assignKinds{{
				Pointer: &assignByPointer{}, Int64: &assignByInt64{}, Unsigned: &assignByUint64{},
				Named: &assignByNamed{}, Nullable: &assignByNull{}, Generic: &assignByGeneric{}, Typed: &assignByTyped{},
			}}
		},
		Tables: func(tree any) []any {
			k := (*tree.(*[]assignKinds))[0]
			return []any{tree, k.Pointer, k.Int64, k.Unsigned, k.Named, k.Nullable, k.Generic, k.Typed}
		},
		Load: plugintest.LoadAll[assignKinds]("Pointer", "Int64", "Unsigned", "Named", "Nullable", "Generic", "Typed"),
	}
}
