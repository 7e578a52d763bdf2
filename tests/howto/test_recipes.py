"""The pages with recipes: what left the library as it gained nothing, and still gives what its paper defines."""

import numpy as np
import pytest

from _pages import follow
from _recipes import recipe

# Colours and their L*, u*, v*: primaries as in tables of sRGB with the white point D65, the others from rgb2luv of
# scikit-image 0.26.
PUBLISHED = {
    (1, 0, 0): (53.24, 175.01, 37.76),
    (0, 1, 0): (87.73, -83.08, 107.40),
    (0, 0, 1): (32.30, -9.40, -130.34),
    (0, 0, 0): (0, 0, 0),
    (1, 1, 1): (100, 0, 0),
    (0.5, 0.5, 0.5): (53.389, 0, 0.004),
    (0.02, 0.01, 0.03): (0.949, 0.294, -0.934),
}


@pytest.mark.long
@pytest.mark.parametrize("page", ["add_a_sampler", "images"])
@pytest.mark.filterwarnings("ignore::nearlabel.utils.messages.AdviceWarning")
def test_the_page_works(page, folder, capsys):
    """Files are written, programs run and print what the page shows."""
    assert follow(f"howto/{page}", folder, capsys)


@pytest.fixture(scope="module")
def colors():
    """The file of the page on images."""
    return recipe("howto/images", "color_moments.py")


@pytest.mark.parametrize(("color", "luv"), PUBLISHED.items())
def test_published_colors(colors, color, luv):
    """An image of one colour has its published L, u and v as means, and no variance."""
    features = colors.color_moments([np.full((7, 9, 3), color, dtype=float)]).reshape(3, 49, 2)
    np.testing.assert_allclose(features[:, :, 0], np.repeat(luv, 49).reshape(3, 49), atol=0.01)
    np.testing.assert_allclose(features[:, :, 1], 0, atol=1e-20)


def test_colors_are_those_of_scikit_image(colors):
    """Luv agrees with rgb2luv, whose constants have four digits, over the whole cube."""
    color = pytest.importorskip("skimage.color")
    levels = np.linspace(0, 1, 18)
    cube = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(18 * 18, 18, 3)
    np.testing.assert_allclose(colors.luv(cube), color.rgb2luv(cube), atol=2e-4)


def test_moments_by_hand(colors):
    """A block of three white pixels and a black one: mean 75, variance (3 · 25² + 75²) / 4 = 1875."""
    image = np.zeros((4, 4, 3), dtype=np.uint8)
    image[[0, 0, 1, 2, 3], [0, 1, 0, 0, 0]] = 255
    found = colors.moments(image, grid=2).reshape(3, 2, 2, 2)
    np.testing.assert_allclose(found[0], [[[75, 1875], [0, 0]], [[50, 2500], [0, 0]]], rtol=1e-12, atol=1e-12)
    assert len(colors.moments(np.zeros((15, 10, 3)))) == 294
    with pytest.raises(ValueError, match="image must be RGB: bytes, or numbers from 0 to 1"):
        colors.moments(image.astype(int))
