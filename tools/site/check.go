package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// checkLinks returns an error that lists the links of the site that lead nowhere.
func checkLinks(files map[string][]byte) error {
	links, anchors := map[string][]string{}, map[string]map[string]bool{}
	for name, text := range files {
		if path.Ext(name) == ".html" {
			links[name], anchors[name] = references(text)
		}
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(links)) {
		for _, link := range links[name] {
			to, part, _ := strings.Cut(link, "#")
			target := path.Join(path.Dir(name), to)
			if to == "" {
				target = name
			}
			switch {
			case isExternal(link):
			case files[target] == nil:
				wrong = append(wrong, fmt.Errorf("%s: the link to %s leads nowhere", name, link))
			case part != "" && !anchors[target][part]:
				wrong = append(wrong, fmt.Errorf("%s: the link to %s leads to no heading", name, link))
			}
		}
	}
	return errors.Join(wrong...)
}

// isExternal reports whether a link leads out of the site.
func isExternal(link string) bool {
	return strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") || strings.HasPrefix(link, "data:")
}

// references returns the links of a page, and its anchors.
func references(page []byte) (links []string, anchors map[string]bool) {
	anchors = map[string]bool{}
	for tokens := html.NewTokenizer(bytes.NewReader(page)); tokens.Next() != html.ErrorToken; {
		token := tokens.Token()
		if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
			continue
		}
		for _, attribute := range token.Attr {
			switch attribute.Key {
			case "href", "src":
				links = append(links, attribute.Val)
			case "srcset":
				for image := range strings.SplitSeq(attribute.Val, ",") {
					links = append(links, strings.Fields(image)[0])
				}
			case "id":
				anchors[attribute.Val] = true
			}
		}
	}
	return links, anchors
}
