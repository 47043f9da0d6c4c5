package main

import (
	"encoding/binary"
	"hash/crc32"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Each picture has a title, which is made with it from what it shows. Documents repeat it as the
// alternative text, so that text changes with the picture.

// titles are where a picture has its title: an element of SVG, a chunk of PNG.
var titles = regexp.MustCompile(`<title>(.*)</title>|tEXtTitle\x00(.*?)\n`)

func titleOf(picture []byte) string {
	if found := titles.FindSubmatch(picture); found != nil {
		return html.UnescapeString(string(slices.Concat(found[1], found[2])))
	}
	return ""
}

// withTitle adds a title to a PNG, before its last chunk, which has 12 bytes. PNG, Third
// Edition, section 11.3.3.2: a chunk is its length, type, data and CRC.
func withTitle(png []byte, title string) []byte {
	text := []byte("tEXtTitle\x00" + title + "\n")
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(text)-4))
	chunk = binary.BigEndian.AppendUint32(append(chunk, text...), crc32.ChecksumIEEE(text))
	end := len(png) - 12
	return slices.Concat(png[:end], chunk, png[end:])
}

// shows are the documents with pictures.
var shows = []string{"README.md", "docs/doctor.md", "docs/design/spill.md"}

// shown matches a picture in a document: its text and its name.
var shown = regexp.MustCompile(`!\[([^\]]*)\]\((?:docs/|\.\./)?pictures/([a-z]+\.(?:svg|png))\)`)

// retitle returns a document in which each picture has its title, and the names of its pictures.
func retitle(document []byte, picture func(name string) ([]byte, error)) (with []byte, names []string, err error) {
	with = shown.ReplaceAllFunc(document, func(match []byte) []byte {
		parts := shown.FindSubmatch(match)
		data, failed := picture(string(parts[2]))
		if failed != nil {
			err = failed
		}
		names = append(names, string(parts[2]))
		title := strings.NewReplacer("[", "(", "]", ")").Replace(titleOf(data)) // brackets would end it
		return slices.Concat([]byte("!["+title), match[len("![")+len(parts[1]):])
	})
	return with, names, err
}

// retitleAll gives pictures their titles in all documents.
func (w *workshop) retitleAll() error {
	for _, name := range shows {
		document, err := os.ReadFile(w.path(name))
		if err != nil {
			return err
		}
		with, _, err := retitle(document, func(picture string) ([]byte, error) { return os.ReadFile(w.path(folder + "/" + picture)) })
		if err != nil {
			return err
		}
		if err := os.WriteFile(w.path(name), with, 0o666); err != nil {
			return err
		}
	}
	return nil
}
