package main

import (
	"bytes"
	"image"
	"image/jpeg"
)

// Three stages with enough work.
var _ = register(scenario{
	Name: "thumbnails",
	About: "Three stages of several goroutines decode, shrink and encode pictures, connected by short " +
		"channels. Each stage computes for a good part of a millisecond: CPU is the limit.",
	Instead: cpuBound,
	Right:   []string{noChange},
	builds: map[string]build{
		asFound: func(s *service) { startThumbnails(s, 2) },
		buffer:  func(s *service) { startThumbnails(s, 256) },
	},
})

const (
	pictureSize = 128 // pixels on each side
	stageWidth  = 3   // goroutines per stage
)

type thumbnails struct {
	picture        []byte
	decoded, small chan *image.Gray
}

func startThumbnails(s *service, capacity int) {
	original := image.NewGray(image.Rect(0, 0, pictureSize, pictureSize))
	for i := range original.Pix {
		original.Pix[i] = byte(grind(uint64(i), 3))
	}
	var encoded bytes.Buffer
	if err := jpeg.Encode(&encoded, original, nil); err != nil {
		panic("thumbnails: " + err.Error())
	}
	t := &thumbnails{
		picture: encoded.Bytes(),
		decoded: make(chan *image.Gray, capacity),
		small:   make(chan *image.Gray, capacity),
	}
	for range stageWidth {
		go t.decode()
		go t.shrink()
		go t.encode(s.counter())
	}
}

func (t *thumbnails) decode() {
	for {
		picture, err := jpeg.Decode(bytes.NewReader(t.picture))
		if err != nil {
			return
		}
		if gray, ok := picture.(*image.Gray); ok {
			t.decoded <- gray
		}
	}
}

// shrink averages each block of four by four pixels.
func (t *thumbnails) shrink() {
	for picture := range t.decoded {
		small := image.NewGray(image.Rect(0, 0, pictureSize/4, pictureSize/4))
		for y := range pictureSize {
			for x := range pictureSize {
				small.Pix[y/4*small.Stride+x/4] += picture.Pix[y*picture.Stride+x] / 16
			}
		}
		t.small <- small
	}
}

func (t *thumbnails) encode(done *counter) {
	var out bytes.Buffer
	for picture := range t.small {
		out.Reset()
		if jpeg.Encode(&out, picture, nil) != nil {
			return
		}
		done.add(1)
	}
}
