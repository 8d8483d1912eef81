"""What a policy might be, looked at on a local page. Nothing is released from it; all that it writes is a policy."""

from duckanon.exploration.exploring import Exploration, explored
from duckanon.exploration.setting import Setting

__all__ = ["Exploration", "Setting", "explored"]
