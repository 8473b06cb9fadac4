package serve

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
)

// A keyPair is the certificate and the key in the files of --tls-cert and --tls-key, as the
// files were last read. Certificates are renewed while the service runs, so a new connection
// makes keyPair read the files again if they have changed.
type keyPair struct {
	cert, key string // names of the files
	log       *slog.Logger

	mu       sync.Mutex
	loaded   *tls.Certificate // the last valid certificate with its key
	modified time.Time        // the later modification time of the two files when they were read
}

// register adds the flags to a command.
func (k *keyPair) register(flagSet *pflag.FlagSet) {
	flagSet.StringVar(&k.cert, "tls-cert", "", "file with the certificate, and those between it and the root, for HTTPS (default none: HTTP)")
	flagSet.StringVar(&k.key, "tls-key", "", "file with the certificate's key")
}

// config reads the files, and returns the configuration for HTTPS. It returns nil if neither
// flag is given, because the service then uses HTTP.
func (k *keyPair) config(log *slog.Logger) (*tls.Config, error) {
	switch {
	case k.cert == "" && k.key == "":
		return nil, nil
	case k.cert == "" || k.key == "":
		return nil, terminal.Usagef("--tls-cert and --tls-key: want both, or none")
	}
	k.log = log
	return &tls.Config{GetCertificate: k.certificate}, k.load()
}

// certificate returns the certificate for a new connection. It reads the files again if
// they have changed. If they cannot be read or are invalid, it logs the error and returns
// the certificate that was read before.
func (k *keyPair) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if changed, err := k.lastChange(); err != nil || !changed.Equal(k.modified) {
		// After an error of lastChange, load returns the same error.
		if err := k.load(); err != nil {
			k.log.Error("the new certificate cannot be used, the old one is", "error", err)
		}
	}
	return k.loaded, nil
}

// load reads the files, and sets loaded and modified. The caller holds mu, or is config,
// before any connection exists.
func (k *keyPair) load() error {
	changed, err := k.lastChange()
	if err != nil {
		return fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	k.modified = changed // also set for invalid files, so that they are not read again until they change
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return fmt.Errorf("--tls-cert %s, --tls-key %s: %w", k.cert, k.key, err)
	}
	k.loaded = &pair
	return nil
}

// lastChange returns the later modification time of the two files.
func (k *keyPair) lastChange() (last time.Time, err error) {
	for _, name := range []string{k.cert, k.key} {
		file, err := os.Stat(name)
		if err != nil {
			return time.Time{}, err
		}
		if changed := file.ModTime(); changed.After(last) {
			last = changed
		}
	}
	return last, nil
}
