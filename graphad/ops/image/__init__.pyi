"""Images [..., height, width, channels]: resizing, flips and crops, colours, differences, boxes. Nearly all functions are
composed of other ops."""

from graphad.ops.image.boxes import crop_and_resize as crop_and_resize
from graphad.ops.image.boxes import non_max_suppression as non_max_suppression
from graphad.ops.image.boxes import non_max_suppression_with_scores as non_max_suppression_with_scores
from graphad.ops.image.colors import adjust_brightness as adjust_brightness
from graphad.ops.image.colors import adjust_contrast as adjust_contrast
from graphad.ops.image.colors import adjust_gamma as adjust_gamma
from graphad.ops.image.colors import adjust_hue as adjust_hue
from graphad.ops.image.colors import adjust_saturation as adjust_saturation
from graphad.ops.image.colors import convert_image_dtype as convert_image_dtype
from graphad.ops.image.colors import grayscale_to_rgb as grayscale_to_rgb
from graphad.ops.image.colors import hsv_to_rgb as hsv_to_rgb
from graphad.ops.image.colors import per_image_standardization as per_image_standardization
from graphad.ops.image.colors import rgb_to_grayscale as rgb_to_grayscale
from graphad.ops.image.colors import rgb_to_hsv as rgb_to_hsv
from graphad.ops.image.colors import rgb_to_yiq as rgb_to_yiq
from graphad.ops.image.colors import rgb_to_yuv as rgb_to_yuv
from graphad.ops.image.colors import yiq_to_rgb as yiq_to_rgb
from graphad.ops.image.colors import yuv_to_rgb as yuv_to_rgb
from graphad.ops.image.differences import image_gradients as image_gradients
from graphad.ops.image.differences import psnr as psnr
from graphad.ops.image.differences import sobel_edges as sobel_edges
from graphad.ops.image.differences import ssim as ssim
from graphad.ops.image.differences import ssim_multiscale as ssim_multiscale
from graphad.ops.image.differences import total_variation as total_variation
from graphad.ops.image.drawing import draw_bounding_boxes as draw_bounding_boxes
from graphad.ops.image.places import central_crop as central_crop
from graphad.ops.image.places import crop_to_bounding_box as crop_to_bounding_box
from graphad.ops.image.places import extract_patches as extract_patches
from graphad.ops.image.places import flip_left_right as flip_left_right
from graphad.ops.image.places import flip_up_down as flip_up_down
from graphad.ops.image.places import pad_to_bounding_box as pad_to_bounding_box
from graphad.ops.image.places import resize_with_crop_or_pad as resize_with_crop_or_pad
from graphad.ops.image.places import rot90 as rot90
from graphad.ops.image.places import transpose as transpose
from graphad.ops.image.random_changes import random_brightness as random_brightness
from graphad.ops.image.random_changes import random_contrast as random_contrast
from graphad.ops.image.random_changes import random_crop as random_crop
from graphad.ops.image.random_changes import random_flip_left_right as random_flip_left_right
from graphad.ops.image.random_changes import random_flip_up_down as random_flip_up_down
from graphad.ops.image.random_changes import random_hue as random_hue
from graphad.ops.image.random_changes import random_saturation as random_saturation
from graphad.ops.image.random_changes import stateless_random_brightness as stateless_random_brightness
from graphad.ops.image.random_changes import stateless_random_contrast as stateless_random_contrast
from graphad.ops.image.random_changes import stateless_random_crop as stateless_random_crop
from graphad.ops.image.random_changes import (
    stateless_random_flip_left_right as stateless_random_flip_left_right,
)
from graphad.ops.image.random_changes import stateless_random_flip_up_down as stateless_random_flip_up_down
from graphad.ops.image.random_changes import stateless_random_hue as stateless_random_hue
from graphad.ops.image.random_changes import stateless_random_saturation as stateless_random_saturation
from graphad.ops.image.resizing import ResizeMethod as ResizeMethod
from graphad.ops.image.resizing import resize as resize
from graphad.ops.image.resizing import resize_with_pad as resize_with_pad
from graphad.ops.image.suppression import combined_non_max_suppression as combined_non_max_suppression
from graphad.ops.image.suppression import non_max_suppression_overlaps as non_max_suppression_overlaps
from graphad.ops.image.suppression import non_max_suppression_padded as non_max_suppression_padded
