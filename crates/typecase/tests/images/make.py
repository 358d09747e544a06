"""Makes the images of this folder, named by stored size and EXIF orientation. Needs Pillow."""

from PIL import Image

for name, mode, orientation in [
    ("31x17.o1.png", "RGB", None), ("31x17.o6.png", "P", 6), ("31x17.o1.jpeg", "RGB", None),
    ("31x17.o6.jpeg", "L", 6), ("31x17.o3.jpeg", "L", 3), ("31x17.o1.webp", "RGB", None), ("31x17.o8.webp", "RGB", 8),
    ("31x17.o1.lossless.webp", "RGB", None), ("31x17.o1.gif", "P", None), ("31x17.o1.bmp", "1", None),
]:
    image = Image.new(mode, (31, 17))
    options = {"lossless": True} if "lossless" in name else {}
    if orientation:
        exif = Image.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif
    image.save(name, **options)
