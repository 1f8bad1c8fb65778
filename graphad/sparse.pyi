"""Sparse tensors: conversion, order, products, reductions."""

from graphad.ops.sparse import *
