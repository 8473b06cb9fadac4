// Command jsonapi serves messages from SQLite in memory. It sends keys to clients as JSON
// strings, which JavaScript does not round, and reads them from paths, queries and bodies.
// The program prints requests to try.
//
//	go run ./examples/jsonapi                       on localhost:8080
//	go run ./examples/jsonapi -addr localhost:9090  elsewhere
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite" // the driver "sqlite", which needs no C compiler

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Message has a key, and the key of the message to which it replies, if any. A types.ID is a
// string in JSON, so its json tag needs no option string.
type Message struct {
	ID      types.ID  `json:"id" gorm:"primaryKey" snowflake:"pk"`
	ReplyTo *types.ID `json:"reply_to"`
	Text    string    `json:"text"`
}

func main() {
	addr := flag.String("addr", "localhost:8080", "`address` to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *addr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "jsonapi:", err)
		os.Exit(1)
	}
}

// run creates a generator, opens the database, and serves the API on addr until ctx ends.
func run(ctx context.Context, w io.Writer, addr string) (err error) {
	gen, err := snowflake.New(snowflake.Static(0, 0)) // or FromEnv, if several processes run
	if err != nil {
		return err
	}
	// Close the generator even if ctx has ended.
	defer func() { err = errors.Join(err, gen.Close(context.WithoutCancel(ctx))) }()

	db, err := openMemory()
	if err != nil {
		return err
	}
	if err := errors.Join(db.Use(gormflake.New(gen)), db.AutoMigrate(&Message{})); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	log.New(w, "", 0).Printf("Try (Ctrl-C ends it):\n  curl -d '{\"text\":\"hello\"}' %s\n  curl %[1]s\n  curl %[1]s/ID",
		"http://"+listener.Addr().String()+"/messages")
	server := &http.Server{Handler: handler(db), ReadTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // makes Serve return ErrServerClosed
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// openMemory opens a database in memory. The pool has a single connection, because each
// connection would have a separate database.
func openMemory() (*gorm.DB, error) {
	dialector := sqlite.New(sqlite.Config{DriverName: "sqlite", DSN: ":memory:?_pragma=foreign_keys(1)"})
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	return db, nil
}

// pageSize is the number of messages on a page.
const pageSize = 100

// handler returns the API, which stores and shows messages in db.
func handler(db *gorm.DB) http.Handler {
	mux := http.NewServeMux()

	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, r *http.Request) {
		var m Message
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		m.ID = 0 // clients do not choose keys
		err := db.WithContext(r.Context()).Create(&m).Error
		answer(w, http.StatusCreated, m, err)
	})

	mux.HandleFunc("GET /messages/{id}", func(w http.ResponseWriter, r *http.Request) {
		// Parse the ID first, because GORM treats a condition that is a string as SQL.
		id, err := types.ParseID(r.PathValue("id"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var m Message
		err = db.WithContext(r.Context()).First(&m, id).Error
		answer(w, http.StatusOK, m, err)
	})

	// List a page of messages, the newest first. For the next page, the client sends the last
	// key of this page in the parameter before. Such a client sees every message that was
	// committed before it read the first page. To read new messages in the order in which they
	// come, see examples/follow.
	mux.HandleFunc("GET /messages", func(w http.ResponseWriter, r *http.Request) {
		query := db.WithContext(r.Context()).Order("id DESC").Limit(pageSize)
		if text := r.FormValue("before"); text != "" {
			before, err := types.ParseID(text)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			query = query.Where("id < ?", before)
		}
		page := []Message{}
		err := query.Find(&page).Error
		answer(w, http.StatusOK, page, err)
	})
	return mux
}

// answer writes body as JSON with the status, or, if err is an error of the database, a text
// with the status that fits the error.
func answer(w http.ResponseWriter, status int, body any, err error) {
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		http.Error(w, "no such message", http.StatusNotFound)
	case err != nil:
		http.Error(w, "the database failed", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // fails if the client has gone
	}
}
