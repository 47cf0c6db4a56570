package picture

import (
	"image"
	"image/color"
	"image/draw"

	scale "golang.org/x/image/draw"
)

// keep is the longest side of an image that is kept, in pixels: two for each cell of a large terminal.
const keep = 400

// shrink makes a copy that fits a terminal, on white paper where the image is transparent: that is what merchants draw
// their logos for. It goes in two steps, because the fast one looks at only four pixels for each, and leaves noise behind
// when it shrinks much; the thorough one takes too long from many megapixels.
func shrink(img image.Image) image.Image {
	const rough = 4 * keep
	if size := img.Bounds().Size(); max(size.X, size.Y) > rough {
		img = resize(img, fit(size, image.Pt(rough, rough)), scale.ApproxBiLinear)
	}
	return resize(img, fit(img.Bounds().Size(), image.Pt(keep, keep)), scale.BiLinear)
}

// fit is the largest size within the room that has the image's proportions. Nothing is enlarged, and nothing vanishes.
func fit(size, room image.Point) image.Point {
	if size.X <= room.X && size.Y <= room.Y {
		return size
	}
	if size.X*room.Y > size.Y*room.X {
		return image.Pt(room.X, max(1, size.Y*room.X/size.X))
	}
	return image.Pt(max(1, size.X*room.Y/size.Y), room.Y)
}

func resize(img image.Image, size image.Point, scaler scale.Scaler) *image.RGBA {
	canvas := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(canvas, canvas.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	scaler.Scale(canvas, canvas.Bounds(), img, img.Bounds(), draw.Over, nil)
	return canvas
}
