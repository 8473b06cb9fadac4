package serve_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/test/clitest"
)

// writeCertificate writes a certificate for 127.0.0.1 with this serial number.
func writeCertificate(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyText, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, keyFile, "PRIVATE KEY", keyText)
	writePEM(t, certFile, "CERTIFICATE", cert)
}

// writePEM writes a file with a single block of this kind.
func writePEM(t *testing.T, path, kind string, bytes []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// New connections get a renewed certificate. If the new files are invalid, the service logs an
// error and keeps the old certificate.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	writeCertificate(t, cert, key, 1)
	got := serveWhile(t, func(url string) {
		if !strings.HasPrefix(url, "https://") {
			t.Errorf("it listens on %s, want https", url)
		}
		wantSerial(t, url, 1)
		writeCertificate(t, cert, key, 2)
		wantSerial(t, url, 2)
		writePEM(t, cert, "CERTIFICATE", []byte("nonsense"))
		wantSerial(t, url, 2)
	}, "serve", "--addr", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	clitest.WantOutcome(t, got, clitest.OK, "listening on https://127.0.0.1:", "the new certificate cannot be used, the old one is")
}

// wantSerial fails the test unless a new connection gets the certificate with this serial
// number, and uses HTTP/2.
func wantSerial(t *testing.T, url string, serial int64) {
	t.Helper()
	// The client does not verify the certificate, whose serial number is checked below.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	response, err := client.Get(url + "/v1/layout")
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	if got := response.TLS.PeerCertificates[0].SerialNumber.Int64(); got != serial || response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		t.Errorf("certificate %d, status %d, HTTP/%d, want certificate %d and 200 over HTTP/2", got, response.StatusCode, response.ProtoMajor, serial)
	}
}

// --access-log logs a request that was refused, with its status and client.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	got := serveWhile(t, func(url string) {
		response, err := http.Get(url + "/v1/ids?count=0")
		if err != nil {
			t.Error(err)
			return
		}
		response.Body.Close()
	}, "serve", "--addr", "127.0.0.1:0", "--access-log", "--log-format", "json")
	for _, want := range []string{`"msg":"request","method":"GET","path":"/v1/ids","status":404,"bytes":`, `"client":"127.0.0.1:`} {
		if !strings.Contains(got.Err, want) {
			t.Errorf("no %s in the log:\n%s", want, got.Err)
		}
	}
}
