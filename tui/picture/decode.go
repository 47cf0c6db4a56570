package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"

	"golang.org/x/image/webp"
)

// decodeWithin decodes and shrinks an image. When the context ends it returns at once, and the decoder stops at its next
// read.
func decodeWithin(ctx context.Context, raw []byte) (image.Image, error) {
	type outcome struct {
		img image.Image
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		img, err := decode(ctx, raw)
		done <- outcome{img, err}
	}()
	select {
	case <-ctx.Done():
		return nil, errTooSlow
	case o := <-done:
		return o.img, o.err
	}
}

var (
	errTooSlow = errors.New("the image takes too long to decode; open it in a browser instead")
	errDamaged = errors.New("the image is damaged, or of a kind that cannot be drawn here: open it in a browser instead")
)

// format is how images of one kind are read. image.Decode would do as well, but for whatever formats another package
// happens to register.
type format struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error) // of an animation, the first frame
}

func formatOf(contentType string) (format, bool) {
	switch contentType {
	case "image/png":
		return format{png.DecodeConfig, png.Decode}, true
	case "image/jpeg":
		return format{jpeg.DecodeConfig, jpeg.Decode}, true
	case "image/gif":
		return format{gif.DecodeConfig, gif.Decode}, true
	case "image/webp":
		return format{webp.DecodeConfig, webp.Decode}, true
	}
	return format{}, false
}

// decode believes what the bytes are, not what their sender calls them. A few bytes can claim to be an image that takes
// all memory, so the size is read first.
func decode(ctx context.Context, raw []byte) (img image.Image, err error) {
	defer func() {
		if recover() != nil { // a decoder that stumbles over a stranger's bytes must not end the session
			img, err = nil, errDamaged
		}
	}()
	kind, _, _ := strings.Cut(http.DetectContentType(raw), ";")
	format, ok := formatOf(kind)
	if !ok {
		return nil, fmt.Errorf("what came is %s; only PNG, JPEG, GIF and WebP can be drawn here", kind)
	}
	config, err := format.config(bytes.NewReader(raw))
	if err != nil {
		return nil, errDamaged
	}
	if err := checkSize(config.Width, config.Height); err != nil {
		return nil, err
	}
	img, err = format.decode(&reader{ctx, bytes.NewReader(raw)})
	switch {
	case ctx.Err() != nil:
		return nil, errTooSlow
	case err != nil:
		return nil, errDamaged
	}
	size := img.Bounds().Size()
	if err := checkSize(size.X, size.Y); err != nil {
		return nil, err
	}
	return shrink(img), nil
}

func checkSize(width, height int) error {
	switch {
	case width < 1 || height < 1:
		return errDamaged
	case width > maxSide || height > maxSide || width*height > maxPixels:
		return fmt.Errorf("the image has %d x %d pixels; images of up to %d megapixels are drawn here: open it in a browser instead",
			width, height, maxPixels/1_000_000)
	}
	return nil
}

// reader ends when its context does: there are images of a few kilobytes that keep a decoder busy for hours.
type reader struct {
	ctx context.Context
	raw *bytes.Reader
}

func (r *reader) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.raw.Read(into)
}
