package publicid_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gormflake/gormflake/publicid"
	"github.com/gormflake/gormflake/types"
)

var exampleSecret = []byte("32 random bytes of a secret file")

func Example() {
	codec, err := publicid.New(exampleSecret) // 32 bytes: openssl rand 32
	if err != nil {
		panic(err)
	}
	orders, err := publicid.For[types.ID](codec, "ord")
	if err != nil {
		panic(err)
	}
	text := orders.Format(2124442649149294496)
	id, err := orders.Parse(text)
	fmt.Println(text, id, err)

	_, err = orders.Parse("ord_oCW8kQR59K3Jw3q8N4U4yU") // made with another secret
	fmt.Println(err)
	// Output:
	// ord_mhnGNExQofhATHNAGGdAju 2124442649149294496 <nil>
	// publicid: invalid public ID
}

// A handler returns public IDs, and reads a public ID from its URL. Text marshals itself,
// so that the response needs no other conversion.
func ExampleKind_Text() {
	codec, err := publicid.New(exampleSecret)
	if err != nil {
		panic(err)
	}
	orders, err := publicid.For[types.ID](codec, "ord")
	if err != nil {
		panic(err)
	}
	type answer struct {
		ID       publicid.Text `json:"id"`
		Customer string        `json:"customer"`
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := orders.Parse(r.PathValue("id"))
		if err != nil {
			http.Error(w, "no such order", http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(answer{orders.Text(id), "Ada"})
	})
	for _, path := range []string{"/orders/" + orders.Format(2124442649149294496), "/orders/2124442649149294496"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 200 {"id":"ord_mhnGNExQofhATHNAGGdAju","customer":"Ada"}
	// 404 no such order
}

func ExampleWithRetired() {
	before, err := publicid.New([]byte("the secret of the years before.."))
	if err != nil {
		panic(err)
	}
	codec, err := publicid.New(exampleSecret, publicid.WithRetired([]byte("the secret of the years before..")))
	if err != nil {
		panic(err)
	}
	old, err := publicid.For[types.ID](before, "ord")
	if err != nil {
		panic(err)
	}
	orders, err := publicid.For[types.ID](codec, "ord")
	if err != nil {
		panic(err)
	}
	fmt.Println(orders.Parse(old.Format(42)))
	// Output: 42 <nil>
}
