"""Images, with the sizes of TensorFlow 1: `resize` counts from pixels that are points."""

from graphad.image import adjust_brightness as adjust_brightness
from graphad.image import adjust_contrast as adjust_contrast
from graphad.image import adjust_gamma as adjust_gamma
from graphad.image import adjust_hue as adjust_hue
from graphad.image import adjust_saturation as adjust_saturation
from graphad.image import central_crop as central_crop
from graphad.image import combined_non_max_suppression as combined_non_max_suppression
from graphad.image import convert_image_dtype as convert_image_dtype
from graphad.image import crop_to_bounding_box as crop_to_bounding_box
from graphad.image import extract_patches as extract_patches
from graphad.image import flip_left_right as flip_left_right
from graphad.image import flip_up_down as flip_up_down
from graphad.image import grayscale_to_rgb as grayscale_to_rgb
from graphad.image import hsv_to_rgb as hsv_to_rgb
from graphad.image import image_gradients as image_gradients
from graphad.image import non_max_suppression as non_max_suppression
from graphad.image import non_max_suppression_overlaps as non_max_suppression_overlaps
from graphad.image import non_max_suppression_padded as non_max_suppression_padded
from graphad.image import non_max_suppression_with_scores as non_max_suppression_with_scores
from graphad.image import pad_to_bounding_box as pad_to_bounding_box
from graphad.image import per_image_standardization as per_image_standardization
from graphad.image import psnr as psnr
from graphad.image import random_brightness as random_brightness
from graphad.image import random_contrast as random_contrast
from graphad.image import random_crop as random_crop
from graphad.image import random_flip_left_right as random_flip_left_right
from graphad.image import random_flip_up_down as random_flip_up_down
from graphad.image import random_hue as random_hue
from graphad.image import random_saturation as random_saturation
from graphad.image import resize_with_crop_or_pad as resize_with_crop_or_pad
from graphad.image import rgb_to_grayscale as rgb_to_grayscale
from graphad.image import rgb_to_hsv as rgb_to_hsv
from graphad.image import rgb_to_yiq as rgb_to_yiq
from graphad.image import rgb_to_yuv as rgb_to_yuv
from graphad.image import rot90 as rot90
from graphad.image import sobel_edges as sobel_edges
from graphad.image import ssim as ssim
from graphad.image import ssim_multiscale as ssim_multiscale
from graphad.image import total_variation as total_variation
from graphad.image import transpose as transpose
from graphad.image import yiq_to_rgb as yiq_to_rgb
from graphad.image import yuv_to_rgb as yuv_to_rgb
from graphad.ops.image.older import ResizeMethod as ResizeMethod
from graphad.ops.image.older import resize as resize
from graphad.ops.image.older import resize_area as resize_area
from graphad.ops.image.older import resize_bicubic as resize_bicubic
from graphad.ops.image.older import resize_bilinear as resize_bilinear
from graphad.ops.image.older import resize_nearest_neighbor as resize_nearest_neighbor
from graphad.ops.older_tensors import extract_image_patches as extract_image_patches

resize_images = resize
resize_image_with_crop_or_pad = resize_with_crop_or_pad
transpose_image = transpose
