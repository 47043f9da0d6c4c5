package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// inputsFile has the hashes of the inputs of captures, when they were captured.
const inputsFile = captures + "/inputs.json"

// inputs are the files that the looks of a captured picture depend on. The files of
// watch are the screens that its tests expect: they change whenever its looks do.
var inputs = map[string][]string{
	"watch": {"cmd/sluice/internal/watch/testdata/*.txt", "tools/live/service/pipeline.go"},
	"map":   {"livepage/page*.html", "livepage/page*.css", "livepage/page*.js", "livepage/page/*", "tools/live/service/pipeline.go"},
}

// hash returns the hash of the files that match some patterns.
func hash(top fs.FS, patterns []string) (string, error) {
	sum := sha256.New()
	for _, pattern := range patterns {
		names, err := fs.Glob(top, pattern)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			text, err := fs.ReadFile(top, name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(sum, "%s %d\n", name, len(text))
			sum.Write(text)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// stored returns the hashes of the inputs of captures, when they were captured.
func stored(top fs.FS) (hashes map[string]string, err error) {
	text, err := fs.ReadFile(top, inputsFile)
	if os.IsNotExist(err) {
		return map[string]string{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &hashes)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputsFile, err)
	}
	return hashes, nil
}

// changed returns the captures whose inputs differ from the stored hashes.
func changed(top fs.FS) (names []string, err error) {
	hashes, err := stored(top)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		now, err := hash(top, inputs[name])
		if err != nil {
			return nil, err
		}
		if hashes[name] != now {
			names = append(names, name)
		}
	}
	return names, nil
}

// storeInputs stores the hashes of the named captures.
func (w *workshop) storeInputs(names []string) error {
	top := os.DirFS(w.top)
	hashes, err := stored(top)
	if err != nil {
		return err
	}
	for _, name := range names {
		if inputs[name] == nil {
			continue
		}
		if hashes[name], err = hash(top, inputs[name]); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(hashes, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(w.path(inputsFile), append(text, '\n'), 0o666)
}

// stale returns the names of pictures that are out of date, each with the reason.
func stale(top fs.FS, made map[string][]byte) (wrong []string, err error) {
	names, err := changed(top)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		wrong = append(wrong, name+": what it shows has changed since it was captured")
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if stored, err := fs.ReadFile(top, folder+"/"+name); err != nil || !bytes.Equal(stored, made[name]) {
			wrong = append(wrong, name+": the tool's output is not what it shows")
		}
	}
	return wrong, nil
}
