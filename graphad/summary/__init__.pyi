"""Summaries of a training run, which are not recorded: there is no writer of event files."""

from graphad.summary import experimental as experimental
from graphad.tools.unrecorded import SummaryWriter as SummaryWriter
from graphad.tools.unrecorded import audio as audio
from graphad.tools.unrecorded import create_noop_writer as create_noop_writer
from graphad.tools.unrecorded import flush as flush
from graphad.tools.unrecorded import histogram as histogram
from graphad.tools.unrecorded import image as image
from graphad.tools.unrecorded import record_if as record_if
from graphad.tools.unrecorded import scalar as scalar
from graphad.tools.unrecorded import should_record_summaries as should_record_summaries
from graphad.tools.unrecorded import text as text
from graphad.tools.unrecorded import write as write
