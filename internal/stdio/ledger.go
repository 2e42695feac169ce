package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Ledger records the processes of this host in a directory, one file each, so that the next host can end what a killed one
// left. Several hosts may share the directory. Records hold no arguments and no variables.
type Ledger struct {
	dir  string
	host identity
	boot string
}

// record is one file of the ledger.
type record struct {
	Host    identity `json:"host"`
	Process identity `json:"process"`
	Marker  string   `json:"marker"`
	Command string   `json:"command"` // the file that was started
	Boot    string   `json:"boot,omitempty"`
}

const (
	recordSuffix = ".process.json"
	recordLimit  = 64 << 10 // bytes; a longer file is none of ours
)

// OpenLedger makes dir if it is missing, for the owner alone.
func OpenLedger(dir string) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("process ledger: %w", err)
	}
	return &Ledger{dir: dir, host: identify(os.Getpid()), boot: bootID()}, nil
}

func (l *Ledger) path(f *family) string { return filepath.Join(l.dir, f.marker+recordSuffix) }

func (l *Ledger) add(f *family, file string) error {
	data, err := json.Marshal(record{l.host, f.leader, f.marker, file, l.boot})
	if err != nil {
		return err
	}
	tmp := l.path(f) + ".tmp"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, l.path(f))
}

func (l *Ledger) remove(f *family) error {
	if err := os.Remove(l.path(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Reaped is a leftover process that Reap ended.
type Reaped struct {
	PID     int
	Command string
}

// Reap ends the processes that hosts which are gone left behind, and removes their records. Records of living hosts and
// files it does not know stay untouched. A missing directory holds nothing to reap. Ending one record's processes takes at
// most 2 s; ctx ends the whole.
func Reap(ctx context.Context, dir string) ([]Reaped, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("process ledger: %w", err)
	}
	var reaped []Reaped
	var errs []error
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return reaped, err
		}
		if !strings.HasSuffix(e.Name(), recordSuffix) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		r, ok := readRecord(path)
		if ok && r.Boot == bootID() {
			if alive(r.Host) {
				continue
			}
			if endLeftover(ctx, r.Process, r.Marker) {
				reaped = append(reaped, Reaped{r.Process.PID, r.Command})
			}
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("process ledger: %w", err))
		}
	}
	return reaped, errors.Join(errs...)
}

// readRecord reads one record. A file that is not one, half written by a host that died, is reported as such and goes.
func readRecord(path string) (record, bool) {
	info, err := os.Stat(path)
	if err != nil || info.Size() > recordLimit {
		return record{}, false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return record{}, false
	}
	var r record
	if json.Unmarshal(data, &r) != nil || r.Process.PID <= 1 || r.Process.Start == 0 || r.Marker == "" {
		return record{}, false
	}
	return r, true
}
