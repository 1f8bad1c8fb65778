"""What PyInstaller cannot see by reading imports: names are imported when they are first used, from lists beside the sources."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

datas = [
    each
    for package in ("graphad", "serialization")
    for each in collect_data_files(package, includes=["**/*.pyi"])
]
hiddenimports = collect_submodules("graphad") + collect_submodules("serialization")
# As sources: kernels are kept under a digest of the compiler's files, and a traceback is cut by the files' places.
module_collection_mode = {"graphad": "py", "serialization": "py"}
