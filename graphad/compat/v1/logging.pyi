"""How much graphad logs."""

from graphad.core.logs import DEBUG as DEBUG
from graphad.core.logs import ERROR as ERROR
from graphad.core.logs import FATAL as FATAL
from graphad.core.logs import INFO as INFO
from graphad.core.logs import WARN as WARN
from graphad.core.logs import debug as debug
from graphad.core.logs import error as error
from graphad.core.logs import fatal as fatal
from graphad.core.logs import get_verbosity as get_verbosity
from graphad.core.logs import info as info
from graphad.core.logs import log as log
from graphad.core.logs import set_verbosity as set_verbosity
from graphad.core.logs import warn as warn
from graphad.core.logs import warning as warning
